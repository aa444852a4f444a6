// An epoll set.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/status.h"

namespace exs {

// Something with a descriptor in the set. Outlives its membership.
class Pollable {
 public:
  virtual ~Pollable() = default;
  virtual void ready(std::uint32_t events) = 0;
};

// Level-triggered. Thread: shard.
class Poller {
 public:
  static Result<Poller> open();
  Poller(Poller&& other) noexcept : epoll_(std::exchange(other.epoll_, -1)), owners_(other.owners_) {}
  Poller& operator=(Poller&&) = delete;
  ~Poller();

  Status add(int descriptor, std::uint32_t events, Pollable& owner) noexcept;
  void change(int descriptor, std::uint32_t events, Pollable& owner) noexcept;
  // False: it was not in the set, or has left it because its owner closed it.
  bool remove(int descriptor) noexcept;
  // Reports once, with the token instead of an owner. The descriptor may be closed at any time, and the set's
  // entry lives on while another process holds the socket. So the entry must not name an object that can die.
  Status watch(int descriptor, std::uint32_t events, std::uint64_t token) noexcept;
  // nullopt: the event has an owner.
  static std::optional<std::uint64_t> watch_token(const epoll_event& event) noexcept;
  // What is ready now; never waits.
  std::span<epoll_event> look(std::span<epoll_event> room) noexcept;
  [[nodiscard]] int descriptor() const noexcept { return epoll_; }
  // Nothing that add() put in is left. What was closed without remove() counts as left.
  [[nodiscard]] bool has_no_owners() const noexcept { return owners_ == 0; }

 private:
  explicit Poller(int epoll) noexcept : epoll_(epoll) {}
  int epoll_;
  std::size_t owners_ = 0;
};

}  // namespace exs
