// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/refusals.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace exs::rpc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kFor(60);
constexpr std::size_t kServersMax = 256;

struct Refusal {
  sockaddr_storage server;
  socklen_t length;
  Clock::time_point end;
};

struct Refusals {
  std::mutex mutex;
  std::vector<Refusal> list;

  // Removes the entries that have expired.
  void sweep() {
    const auto now = Clock::now();
    const auto is_over = [now](const Refusal& refusal) { return refusal.end < now; };
    list.erase(std::remove_if(list.begin(), list.end(), is_over), list.end());
  }
};

Refusals& refusals() {
  alignas(Refusals) static std::byte place[sizeof(Refusals)];
  static Refusals& all = *new (place) Refusals;
  return all;
}

}  // namespace

void note_refusal(const sockaddr_storage& server, socklen_t length) {
  Refusals& all = refusals();
  const std::lock_guard lock(all.mutex);
  all.sweep();
  if (all.list.size() == kServersMax) all.list.erase(all.list.begin());
  try {
    all.list.push_back({server, length, Clock::now() + kFor});
  } catch (const std::bad_alloc&) {
    // The next handle asks the server again.
  }
}

bool has_refused(const sockaddr_storage& server, socklen_t length) {
  Refusals& all = refusals();
  const std::lock_guard lock(all.mutex);
  all.sweep();
  return std::any_of(all.list.begin(), all.list.end(), [&](const Refusal& refusal) {
    return refusal.length == length && std::memcmp(&refusal.server, &server, length) == 0;
  });
}

}  // namespace exs::rpc
