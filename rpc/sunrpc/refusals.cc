// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/refusals.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "base/annotations.h"
#include "base/clock.h"
#include "base/drive_lock.h"

namespace exs::rpc {
namespace {

constexpr std::uint64_t kForNs = 60 * kNsPerSecond;
constexpr std::size_t kServersMax = 256;

struct ServerRefusal {
  sockaddr_storage server;
  socklen_t length;
  std::uint64_t end_ns;
};

struct ServerRefusals {
  Mutex mutex;
  std::vector<ServerRefusal> list EXS_GUARDED_BY(mutex);

  // Removes the entries that have expired.
  void sweep() EXS_REQUIRES(mutex) {
    const std::uint64_t now = monotonic_ns();
    const auto is_over = [now](const ServerRefusal& refusal) { return refusal.end_ns < now; };
    list.erase(std::remove_if(list.begin(), list.end(), is_over), list.end());
  }
};

ServerRefusals& refusals() {
  alignas(ServerRefusals) static std::byte place[sizeof(ServerRefusals)];
  static ServerRefusals& all = *new (place) ServerRefusals;
  return all;
}

}  // namespace

void note_refusal(const sockaddr_storage& server, socklen_t length) {
  ServerRefusals& all = refusals();
  const LockGuard lock(all.mutex);
  all.sweep();
  if (all.list.size() == kServersMax) all.list.erase(all.list.begin());
  try {
    all.list.push_back({server, length, monotonic_ns() + kForNs});
  } catch (const std::bad_alloc&) {
    // The next handle asks the server again.
  }
}

bool has_refused(const sockaddr_storage& server, socklen_t length) {
  ServerRefusals& all = refusals();
  const LockGuard lock(all.mutex);
  all.sweep();
  return std::any_of(all.list.begin(), all.list.end(), [&](const ServerRefusal& refusal) {
    return refusal.length == length && std::memcmp(&refusal.server, &server, length) == 0;
  });
}

}  // namespace exs::rpc
