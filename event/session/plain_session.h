// The session of an adopted stream socket: plain bytes, no protocol. The event of a send says that the kernel
// has all its bytes.
//
// The descriptor stays the application's. It is never duplicated, because close(2) must end the connection.
// Its blocking mode is never changed, because the application goes on using it. Its number may mean another
// socket at any moment, so the shard asks before each use (KernelDescriptor::is_there). Errors of the
// connection end operations and leave the session open: the kernel answers the next operation.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "event/session/closed_socket_check.h"
#include "event/session/session.h"

namespace exs {

class PlainSession final : public Session, public CompletionClient {
 public:
  PlainSession(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
               std::uint32_t operations_max);

  // --- Thread: any ---
  [[nodiscard]] bool carries_plain_bytes() const noexcept override { return true; }
  [[nodiscard]] proto::Agreement agreement() override { return {}; }
  [[nodiscard]] std::string_view carrier() const noexcept override { return "tcp"; }

  // --- Thread: shard ---
  void set_keepalive(std::uint64_t period_ns) override;
  bool start(proto::Direction direction, const proto::Operation& operation) override;
  void shutdown(int how, ControlTarget target) override;
  // Closes the socket if the descriptor was taken over, else leaves it open.
  void close(std::uint64_t linger_ns, ControlTarget target) override;
  // Shuts the connection down, too, if the socket is still there.
  void abort(Status why) override;
  void flush() override;
  proto::Cancelled cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                    int error) override;
  [[nodiscard]] proto::Readiness readiness() const override;

  void complete(const Completion& completion) override;

 private:
  struct OpenTransfer {
    proto::Operation operation;
    std::size_t done_bytes = 0;
    [[nodiscard]] std::size_t left_bytes() const { return operation.memory.length_bytes - done_bytes; }
  };

  void after_step() override;
  [[nodiscard]] std::size_t pooled_messages_max() const noexcept override;
  bool still_waits();
  Fifo<OpenTransfer>& line(proto::Direction direction) {
    return direction == proto::Direction::kSend ? sends_ : receives_;
  }
  // Each moves bytes until the kernel would block, or up to a number of system calls.
  void advance(proto::Direction direction);
  void send_on();
  void receive_on();
  // False: the kernel would block.
  bool send_once(OpenTransfer& transfer);
  bool receive_once(OpenTransfer& transfer);
  // Handles the errno of a call. True: the call may be tried again, or the next transfer.
  bool call_failed(proto::Direction direction, int error);
  void finish(proto::Direction direction, int error, std::uint32_t flags = 0);
  void fail_all(proto::Direction direction, int error);
  void sends_are_gone();
  void shut_down_sending();
  void socket_is_ready(std::uint32_t events);
  void shut_down(int how);
  void begin_close(std::uint64_t linger_ns);
  void await_kernel();
  void linger_is_over();
  void end(int error);

  // Thread: shard
  ClosedSocketCheck closed_check_;
  std::uint64_t token_ = 0;    // 0: it has never waited for the kernel
  std::uint32_t watched_ = 0;  // epoll events that are awaited
  Fifo<OpenTransfer> sends_;
  Fifo<OpenTransfer> receives_;
  // The error that broke the connection. The kernel reports it once, and end of stream afterwards.
  int broken_ = 0;
  bool sending_ends_ = false;  // shut down as soon as the sends have gone
  Deadline linger_;
  bool close_overdue_ = false;
};

}  // namespace exs
