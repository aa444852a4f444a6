// The common parts of the control operations (connect, accept, poll, shutdown, close, cancel).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

#include "src/api/library.h"

namespace exs {

// Reserves a slot of the caller's queue for the event. EBADF; EAGAIN.
Result<ControlTarget> claim_target(Library& library, exs_qhandle_t handle, exs_ahandle_t ahandle);

// Gives the slot of a target back, unless the operation has begun.
class ClaimedSlot {
 public:
  explicit ClaimedSlot(const ControlTarget& target) : queue_(target.queue) {}
  ~ClaimedSlot() {
    if (queue_) queue_->cancel_reservation();
  }
  ClaimedSlot(const ClaimedSlot&) = delete;
  ClaimedSlot& operator=(const ClaimedSlot&) = delete;
  void hand_over() noexcept { queue_ = nullptr; }

 private:
  std::shared_ptr<EventQueue> queue_;
};

// The acceptor of a listening socket, created on `shard` if there is none yet.
std::shared_ptr<Acceptor> acceptor_of(Library& library, Socket& socket, const std::shared_ptr<Shard>& shard)
    EXS_REQUIRES(socket.mutex);

// Cancels the operations of one socket that the selection names, and returns how many match. Waits for the
// drive lock.
std::uint32_t cancel_on(Socket& socket, const proto::Selection& selection);

// The error of an event that a call has waited for, with the words that the connection has for it. 0: ok.
Status told_by(Socket& socket, int error);

// The queue of a synchronous call, for one event.
class PrivateQueue {
 public:
  // Makes a queue on the next shard in turn.
  static Result<PrivateQueue> create(Library& library);
  explicit PrivateQueue(const std::shared_ptr<Shard>& shard)
      : queue_(std::make_shared<EventQueue>(1, shard)) {}

  // Reserves the slot. To be called once. The handle is unique while this object lives.
  [[nodiscard]] ControlTarget target() const;
  [[nodiscard]] const std::shared_ptr<EventQueue>& queue() const noexcept { return queue_; }
  // Waits for the event. At the first caught signal it calls `interrupted`, once, which makes the event come
  // soon.
  exs_event_t await(const std::function<void()>& interrupted) const;

 private:
  std::shared_ptr<EventQueue> queue_;
};

}  // namespace exs
