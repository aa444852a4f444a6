// One shard's connections in the simulated network. Its events happen when it looks, in the order of their times.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/guarded_copy.h"
#include "base/unique_fd.h"
#include "src/provider/completion_queue.h"
#include "src/provider/connector.h"
#include "src/provider/sim/event_heap.h"
#include "src/provider/sim/listener.h"
#include "src/provider/sim/network.h"
#include "src/provider/tag_source.h"

namespace exs::sim {

class SimLink;

// Thread: shard. What the network's mutex guards is for other shards, too.
class SimPort final : public Port, private Connector {
 public:
  static Result<std::unique_ptr<Port>> open(std::shared_ptr<Network> network);
  // `doorbell`: an eventfd, or by the real clock a timerfd. A sleeper need not know what came under way later, as it rings in time.
  SimPort(std::shared_ptr<Network> network, UniqueFd doorbell)
      : network_(std::move(network)), doorbell_(std::move(doorbell)) {}

  [[nodiscard]] Connector* connector() noexcept override { return this; }
  void flush() override;
  void progress(std::uint64_t now_ns) override;
  bool poll_memory(bool rang) override;
  [[nodiscard]] std::uint64_t arrivals() const noexcept override { return arrivals_; }
  std::size_t poll(std::span<Completion> out) override { return completions_.take(out); }
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept override;
  [[nodiscard]] int wait_fd() const noexcept override { return doorbell_.get(); }
  bool arm() override;
  void disarm() override;

  // --- its links and listeners ---
  [[nodiscard]] Network& network() noexcept { return *network_; }
  [[nodiscard]] CompletionQueue& completions() noexcept { return completions_; }
  [[nodiscard]] std::vector<SimPortListener*>& listeners() noexcept { return listeners_; }
  [[nodiscard]] std::uint64_t draw_id();
  [[nodiscard]] TagKey draw_window_key();
  // Sends the answer of an accept, if it still waits for a flush.
  void reply_now(SimLink& link);
  void forget(SimLink& link) noexcept;

  // --- with the network's mutex, on any thread ---
  [[nodiscard]] EventHeap& events() noexcept { return events_; }
  void enqueue(Event event) noexcept;

 private:
  struct Reply {
    SimLink* link = nullptr;
    Event answer;
  };

  // Connector
  bool may_reach(const sockaddr* /*peer*/, Reason& /*why_not*/) override { return true; }
  Result<std::unique_ptr<Link>> connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                        const ConnectParameters& parameters,
                                        std::uint64_t link_token) override;
  Result<std::unique_ptr<PortListener>> listen(int descriptor, const ListenParameters& parameters,
                                               std::uint64_t listener_token) override;
  Result<std::unique_ptr<Link>> accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                       const ConnectParameters& parameters,
                                       std::uint64_t link_token) override;

  void happen_until(std::uint64_t now_ns);
  void happen(Event& event);
  void ask(SimLink& link, Event& question);
  void tell_listener(std::uint64_t id);
  // True: something was due, or a peer has rung.
  bool hear_doorbell() noexcept;
  void ring() noexcept;
  void set_timer() noexcept;

  const std::shared_ptr<Network> network_;
  const UniqueFd doorbell_;
  const FaultWatch faults_;  // memory of the program may be gone when it is copied
  CompletionQueue completions_;
  std::uint64_t arrivals_ = 0;
  std::vector<SimPortListener*> listeners_;
  std::vector<Reply> replies_;
  EventHeap events_;
  bool armed_ = false;
  bool rung_ = false;                     // by virtual time
  std::uint64_t timer_ns_ = kNoDeadline;  // by the real clock: when the doorbell rings
};

}  // namespace exs::sim
