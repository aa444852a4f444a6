// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/own_sockets.h"

#include <atomic>

#include "base/socket_cookie.h"

namespace exs {
namespace {

// The cookie of the last socket of that number which was ours. A page costs memory only once it is written;
// an array of atomics some compilers would fill at the start of the process.
constinit std::uint64_t cookies[OwnSockets::kNumbersMax] = {};

std::atomic_ref<std::uint64_t> cookie_of(int number) {
  return std::atomic_ref<std::uint64_t>(cookies[number]);
}

bool is_number(int number) {
  return number >= 0 && number < OwnSockets::kNumbersMax;
}

}  // namespace

constinit Mutex OwnSockets::opening_;

void OwnSockets::add(int number) {
  if (const auto cookie = socket_cookie(number)) add(number, *cookie);
}

void OwnSockets::add(int number, std::uint64_t cookie) {
  if (is_number(number)) cookie_of(number).store(cookie, std::memory_order_relaxed);
}

// A thread that has read the cookie of a socket during its opening waits here until that is done.
bool OwnSockets::has(int number, std::uint64_t cookie) {
  if (!is_number(number)) return false;
  LockGuard guard(opening_);
  return cookie_of(number).load(std::memory_order_relaxed) == cookie;
}

}  // namespace exs
