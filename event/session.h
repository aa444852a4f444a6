// One connection as the shard sees it: the provider's link, the protocol engine on top of it, its time
// limits, and the events it owes. Created by a connect or for an accepted request; lives until closed or
// failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "event/event_queue.h"
#include "event/kernel_descriptor.h"
#include "event/shard.h"
#include "src/proto/connection.h"

namespace exs {

// Where the one event of a control operation goes. A slot of `queue` is reserved for it.
struct ControlTarget {
  std::shared_ptr<EventQueue> queue;
  exs_ahandle_t handle = nullptr;
};

struct SessionOptions {
  proto::Wishes wishes;
  std::uint64_t connect_limit_ns = 0;  // whole connect; accepted: until the peer's first message
  std::uint32_t operations_max = 0;    // posted operations a direction
};

class Session final : public CompletionClient,
                      public TimerClient,
                      public proto::OutcomeSink,
                      public std::enable_shared_from_this<Session> {
 public:
  enum class State : std::uint8_t { kIdle, kConnecting, kConnected, kClosing, kEnded };

  Session(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
          const SessionOptions& options);
  ~Session() override;

  // --- Thread: any ---
  // Takes a place for one more operation. EAGAIN: the limit is reached. ENOTCONN, EPIPE: not the time for it.
  Status admit(proto::Direction direction);
  void withdraw(proto::Direction direction);
  void set_operations_max(std::uint32_t operations_max) { operations_max_ = operations_max; }
  // The operation has been admitted and its queue slot reserved: exactly one event follows.
  void post(proto::Direction direction, const proto::Operation& operation) {
    shard_->post(shared_from_this(), direction, operation);
  }
  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] const std::shared_ptr<Shard>& shard() const noexcept { return shard_; }
  [[nodiscard]] const std::shared_ptr<KernelDescriptor>& descriptor() const noexcept { return descriptor_; }
  // Takes the drive lock for a moment.
  [[nodiscard]] proto::Counters counters();
  [[nodiscard]] proto::Agreement agreement();
  void forbid_sending() { sending_ended_ = true; }
  // Longest immediate message, once connected.
  [[nodiscard]] std::size_t small_bytes() const noexcept { return small_bytes_; }
  struct Ended {
    std::uint64_t sends = 0, receives = 0, errors = 0;
  };
  // Operations that have had their event, and how many of those told an error. Takes the drive lock.
  [[nodiscard]] Ended ended();
  [[nodiscard]] std::uint32_t open_count(proto::Direction direction) { return open_operations(direction); }

  // --- Thread: shard ---
  void start(proto::Direction direction, const proto::Operation& operation);
  void connect(const sockaddr_storage& peer, socklen_t peer_bytes, ControlTarget target);
  // ENOTCONN and the like: the request could not be accepted; nothing happened.
  Status accept(std::unique_ptr<ConnectionRequest> request, const proto::Agreement& agreement);
  void shutdown(int how);
  // EXS_EVT_CLOSE follows.
  void close(std::uint64_t linger_ns, ControlTarget target);
  // Ends at once; open operations end with `why`.
  void abort(Status why);

  void complete(const Completion& completion) override;
  void timer_fired(std::uint64_t now_ns) override;
  [[nodiscard]] bool still_wants(std::uint64_t deadline_ns) const override {
    return deadline_ns == deadline_ns_;
  }

 private:
  // proto::OutcomeSink
  void completed(proto::Direction direction, const proto::Operation& operation,
                 const proto::Outcome& outcome) override;
  void ready() override;
  void peer_stopped_receiving() override { sending_ended_ = true; }
  void closed() override;
  void failed(Status why) override;

  void established();
  void push_control(const ControlTarget& target, int type, int error);
  void arm(std::uint64_t after_ns);
  void end(Status why);
  std::atomic<std::uint32_t>& open_operations(proto::Direction direction) {
    return direction == proto::Direction::kSend ? open_sends_ : open_receives_;
  }

  const std::shared_ptr<Shard> shard_;
  const std::shared_ptr<KernelDescriptor> descriptor_;
  const SessionOptions options_;

  // Read by posting threads to refuse early; written by the shard (and the counts by both). What they miss
  // because they looked a moment too soon ends in an event instead of an errno.
  std::atomic<State> state_{State::kIdle};
  std::atomic<bool> sending_ended_{false};
  std::atomic<std::size_t> small_bytes_{0};
  std::atomic<std::uint32_t> operations_max_;
  std::atomic<std::uint32_t> open_sends_{0};
  std::atomic<std::uint32_t> open_receives_{0};

  // Thread: shard
  std::uint64_t token_ = 0;
  std::unique_ptr<Link> link_;
  std::unique_ptr<proto::Connection> connection_;
  Ended ended_;
  proto::Counters last_counters_;
  proto::Agreement last_agreement_;
  std::uint64_t deadline_ns_ = kNoDeadline;
  ControlTarget connect_target_;
  std::vector<ControlTarget> close_targets_;
  bool close_overdue_ = false;
};

}  // namespace exs
