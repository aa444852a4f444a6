// Readiness of kernel sockets that no provider carries, told as completions: one more port of the shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>

#include "event/engine/plain_accept.h"
#include "src/base/fifo.h"
#include "src/base/poller.h"
#include "src/provider/provider.h"

namespace exs {

// Thread: shard.
class Readiness final : public Port {
 public:
  static Result<std::unique_ptr<Readiness>> open();

  // Watches once: as soon as any of `events` (EPOLL*), an error or a hang-up is there, a kReadiness
  // completion follows, then nothing until the next watch(), which also may change the events. The descriptor
  // is the caller's, who may close it, and use its number again, at any time: a completion for a socket that
  // is gone may still come, or may not.
  Status watch(int descriptor, std::uint32_t events, std::uint64_t token);
  // `descriptor` still is what was given to watch() with this token.
  void unwatch(int descriptor, std::uint64_t token);
  // As PlainAccept::accept.
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
  // Tokens whose completion may come: with none there is nothing to look for. Of a socket that was closed
  // while it was watched the token stays.
  std::unordered_set<std::uint64_t> watched_;
  Fifo<Completion> ready_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace exs
