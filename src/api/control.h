// What the control operations (connect, accept, poll, shutdown, close, cancel) have in common.
#pragma once

#include <functional>

#include "src/api/library.h"

namespace exs {

// A slot of the caller's queue for the one event. EBADF; EAGAIN.
Result<ControlTarget> claim_target(Library& library, exs_qhandle_t handle, exs_ahandle_t ahandle);

// The acceptor of a listening socket, made with `shard` when there is none yet.
std::shared_ptr<Acceptor> acceptor_of(Library& library, Socket& socket, const std::shared_ptr<Shard>& shard)
    EXS_REQUIRES(socket.mutex);

// Cancels what the selection names on one socket; how many operations match. Waits for the drive lock.
std::uint32_t cancel_on(Socket& socket, const proto::Selection& selection);

// The queue of a synchronous call, for its one event.
class PrivateQueue {
 public:
  // On the next shard in turn.
  static Result<PrivateQueue> create(Library& library);
  explicit PrivateQueue(const std::shared_ptr<Shard>& shard)
      : queue_(std::make_shared<EventQueue>(1, shard)) {}

  // Reserves the slot; to be called once. The handle is like no other while this lives.
  [[nodiscard]] ControlTarget target() const;
  [[nodiscard]] const std::shared_ptr<EventQueue>& queue() const noexcept { return queue_; }
  // The event. At the first caught signal `interrupted` is called, once; it makes the event come soon.
  exs_event_t await(const std::function<void()>& interrupted) const;

 private:
  std::shared_ptr<EventQueue> queue_;
};

}  // namespace exs
