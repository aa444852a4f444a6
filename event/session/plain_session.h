// A connected stream socket that the application made: plain bytes, no protocol. The event of a send says
// that the kernel has all its bytes.
//
// The descriptor stays the application's. It is never duplicated, because a close must end the connection;
// its blocking mode is never changed, because plain calls follow; its number may mean another socket at any
// moment, so the shard asks before it touches it (KernelDescriptor::is_there). Errors of the connection are
// told by events and leave the session as it was: the next operation is told by the kernel itself.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "event/session/closed_socket_check.h"
#include "event/session/session.h"
#include "src/base/fifo.h"

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
  [[nodiscard]] proto::Counters counters() const override { return counters_; }
  void set_keepalive(std::uint64_t period_ns) override;
  void start(proto::Direction direction, const proto::Operation& operation) override;
  void shutdown(int how, ControlTarget target) override;
  // The socket is closed if the descriptor was taken over, else left as it is.
  void close(std::uint64_t linger_ns, ControlTarget target) override;
  // Ends the connection, too, if its socket is still there.
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
  bool still_waits();
  Fifo<OpenTransfer>& line(proto::Direction direction) {
    return direction == proto::Direction::kSend ? sends_ : receives_;
  }
  // Each goes on as far as the kernel and a bound on system calls let it.
  void advance(proto::Direction direction);
  void send_on();
  void receive_on();
  // False: no more for now.
  bool send_once(OpenTransfer& transfer);
  bool receive_once(OpenTransfer& transfer);
  void finish(proto::Direction direction, int error, std::uint32_t flags = 0);
  void fail_all(proto::Direction direction, int error);
  void sends_are_gone();
  void shut_down_sending();
  void await_kernel();
  void linger_is_over();
  void end(int error);

  // Thread: shard
  ClosedSocketCheck closed_check_;
  std::uint64_t token_ = 0;
  std::uint32_t watched_ = 0;  // epoll events that will be told
  Fifo<OpenTransfer> sends_;
  Fifo<OpenTransfer> receives_;
  int broken_ = 0;  // how the connection broke: the kernel tells it once, and an orderly end ever after
  proto::Counters counters_;
  bool sending_ends_ = false;  // shut down as soon as the sends have gone
  Deadline linger_;
  bool close_overdue_ = false;
};

}  // namespace exs
