// The readiness of kernel sockets that no provider carries, reported as completions of one more port.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>

#include "base/fifo.h"
#include "event/engine/plain_accept.h"
#include "src/provider/poller.h"
#include "src/provider/provider.h"

namespace exs {

// Thread: shard.
class Readiness final : public Port {
 public:
  static Result<std::unique_ptr<Readiness>> open();

  // Watches once: when any of `events` (EPOLL*), an error or a hang-up occurs, one kReadiness completion
  // follows. The next watch() starts again, perhaps with other events. The caller may close the descriptor
  // and reuse its number at any time; then a completion for the closed socket may come, or not.
  Status watch(int descriptor, std::uint32_t events, std::uint64_t token);
  // Stops watching. `descriptor` must still be the socket that was given to watch() with this token.
  void unwatch(int descriptor, std::uint64_t token);
  // See PlainAccept::accept().
  Result<int> accept(int listening) { return plain_accept_.accept(listening); }

  void flush() override {}
  void progress(std::uint64_t now_ns) override;
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return arrivals_; }
  std::size_t poll(std::span<Completion> out) override;
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override { return kNoDeadline; }
  [[nodiscard]] int wait_fd() const noexcept override { return poller_.descriptor(); }

 private:
  Readiness(Poller&& poller, bool ring_allowed) : poller_(std::move(poller)), plain_accept_(ring_allowed) {}

  Poller poller_;
  PlainAccept plain_accept_;
  // Tokens whose completion may come; without any the port need not be polled. The token of a socket that was
  // closed while it was watched stays.
  std::unordered_set<std::uint64_t> watched_;
  Fifo<Completion> ready_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace exs
