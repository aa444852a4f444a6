// Ports without links: what the directory and the channels need of one, turned by the test's thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/provider/shm/channel_directory.h"
#include "src/provider/shm/peer_socket.h"
#include "tests/support/require.h"

namespace exs {

inline std::ostream& operator<<(std::ostream& out, ReasonCode code) {
  return out << static_cast<int>(code);
}

}  // namespace exs

namespace exs::shm::test {

inline constexpr std::uint64_t kStartNs = 1'000'000'000;
inline constexpr int kWaitLimitMs = 120'000;  // far more than anything here takes

using exs::test::require;

class Half {
 public:
  explicit Half(const Settings& chosen = {}) : settings(chosen) {}

  void turn() {
    std::array<epoll_event, 64> room;
    for (const epoll_event& event : poller.look(room))
      static_cast<Pollable*>(event.data.ptr)->ready(event.events);
    directory.progress(now_ns);
    Completion batch[3];
    while (const std::size_t count = completions.take(batch)) seen.insert(seen.end(), batch, batch + count);
  }
  std::optional<Completion> take(std::uint64_t token) {
    for (auto it = seen.begin(); it != seen.end(); ++it) {
      if (it->link != token) continue;
      const Completion found = *it;
      seen.erase(it);
      return found;
    }
    return std::nullopt;
  }
  std::unique_ptr<ShmUpgrade> invite() {
    Reason why;
    auto pending = directory.invite(why);
    require(pending.has_value(), std::string("invite: ") + why.fact);
    return std::move(*pending);
  }
  std::unique_ptr<ShmUpgrade> join(std::span<const std::byte> invitation, std::uint64_t token) {
    auto request = directory.join(invitation, token);
    require(request.has_value(), "join");
    return std::move(*request);
  }

  const Settings settings;
  Poller poller = open();
  CompletionQueue completions;
  ChannelDirectory directory{settings, poller, completions};
  std::uint64_t now_ns = kStartNs;  // a fake clock; moved by the test alone
  std::deque<Completion> seen;

 private:
  static Poller open() {
    Result<Poller> opened = Poller::open();
    require(opened.has_value(), "epoll_create1");
    return std::move(*opened);
  }
};

// Turns them until `done()`; sleeps while nothing is ready and nothing is due.
template <typename Done>
void drive_until(std::span<Half* const> halves, Done done) {
  for (;;) {
    for (Half* half : halves) half->turn();
    if (done()) return;
    std::vector<pollfd> waits;
    bool due = false;
    for (Half* half : halves) {
      waits.push_back({half->poller.descriptor(), POLLIN, 0});
      due = due || half->directory.next_deadline_ns() <= half->now_ns;
    }
    if (!due)
      require(::poll(waits.data(), waits.size(), kWaitLimitMs) > 0, "nothing happened for a long time");
  }
}

inline Completion await(std::span<Half* const> halves, Half& where, std::uint64_t token) {
  std::optional<Completion> found;
  drive_until(halves, [&] {
    found = where.take(token);
    return found.has_value();
  });
  return *found;
}

// Without those of other users, which a thread closes.
inline std::size_t open_descriptors() {
  while (closing() > 0) std::this_thread::yield();
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all))) -
         1;  // less that of the listing itself
}

}  // namespace exs::shm::test
