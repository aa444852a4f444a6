// A receive that stays posted and takes a buffer of a pool only when something has arrived for it. So a connection
// that is idle holds none.
//
// It posts an ordinary receive (one of tag.pooled) for each message that waits, each with a buffer and a slot of the queue
// for its event. Without a buffer or a slot the message goes on waiting at the peer, as for any receive that is
// late. Its own slot is for the last event, which says why there will be no more.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "event/queue/control_target.h"
#include "event/queue/receive_pool.h"
#include "src/proto/operation.h"

namespace exs {

class Shard;

// The session of a pooled receive, as that sees it. Thread: shard, but for home().
class PooledSession {
 public:
  virtual ~PooledSession() = default;
  // It is connected, and something waits that an ordinary receive would take.
  [[nodiscard]] virtual bool has_arrivals() const = 0;
  virtual void start_receive(const proto::Operation& operation) = 0;
  // Why it has ended; none: it has not.
  [[nodiscard]] virtual std::optional<int> why_ended() const noexcept = 0;
  // The pooled receive, if there is one, goes on with what has arrived.
  virtual void advance_pooled() = 0;
  [[nodiscard]] virtual const std::shared_ptr<Shard>& home() const noexcept = 0;
};

class PooledReceive final : public WaitLine::Waiter, public std::enable_shared_from_this<PooledReceive> {
 public:
  // A use of the pool, and a slot of the target's queue, are handed over.
  PooledReceive(const std::shared_ptr<PooledSession>& session, std::shared_ptr<ReceivePool> pool,
                ControlTarget target);
  ~PooledReceive() override;
  PooledReceive(const PooledReceive&) = delete;
  PooledReceive& operator=(const PooledReceive&) = delete;

  // --- Thread: any ---
  void try_again() override;

  // --- Thread: shard ---
  // Receives what has arrived, `most` messages at most. True: it is over, and end() is due.
  [[nodiscard]] bool advance(PooledSession& session, std::size_t most);
  // Gives back what it holds and pushes its last event.
  void end(const std::shared_ptr<KernelDescriptor>& descriptor);
  // One of its receives has completed.
  void take(const std::shared_ptr<KernelDescriptor>& descriptor, const proto::Operation& operation,
            const proto::Outcome& outcome);
  // No more receives; the last event has this error.
  void stop(int error) noexcept;
  [[nodiscard]] bool wants_more() const noexcept { return !stopped_; }
  // Something that arrives now is to be received.
  [[nodiscard]] bool wants_data() const noexcept { return !stopped_ && !waits_; }
  [[nodiscard]] void* handle() const noexcept { return target_.handle; }
  [[nodiscard]] EventQueue& queue() const noexcept { return *target_.queue; }

 private:
  class Turn;

  [[nodiscard]] bool can_post(const PooledSession& session) const;
  [[nodiscard]] bool post(PooledSession& session);
  [[nodiscard]] std::byte* take_buffer_and_slot();
  [[nodiscard]] proto::Operation receive_into(std::byte* buffer) const;
  void give_back(const proto::Operation& operation);
  void pass_on();

  const std::weak_ptr<PooledSession> session_;
  const std::shared_ptr<ReceivePool> pool_;
  const ControlTarget target_;

  // Thread: shard
  std::size_t under_way_ = 0;  // receives
  bool advancing_ = false;
  bool waits_ = false;  // in the line for a buffer or a slot
  // Made before this joins a line, so that waking it needs no memory.
  std::unique_ptr<Turn> turn_;
  bool stopped_ = false;
  bool uses_pool_ = true;
  int error_ = 0;
  std::uint32_t last_flags_ = 0;
};

}  // namespace exs
