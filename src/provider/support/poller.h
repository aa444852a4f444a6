// The epoll set of one port.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <optional>
#include <span>

#include "src/base/status.h"

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
  Poller(Poller&& other) noexcept : epoll_(other.epoll_) { other.epoll_ = -1; }
  Poller& operator=(Poller&&) = delete;
  ~Poller();

  Status add(int descriptor, std::uint32_t events, Pollable& owner) noexcept;
  void change(int descriptor, std::uint32_t events, Pollable& owner) noexcept;
  void remove(int descriptor) noexcept;
  // Tells once, with the token instead of an owner: the descriptor may be closed at any time, and an entry of
  // the set lives on as long as another process holds the socket, so what it names must not die.
  Status watch(int descriptor, std::uint32_t events, std::uint64_t token) noexcept;
  // Nothing when the event has an owner.
  static std::optional<std::uint64_t> watch_token(const epoll_event& event) noexcept;
  // What is ready now; never waits.
  std::span<epoll_event> look(std::span<epoll_event> room) noexcept;
  [[nodiscard]] int descriptor() const noexcept { return epoll_; }

 private:
  explicit Poller(int epoll) noexcept : epoll_(epoll) {}
  int epoll_;
};

}  // namespace exs
