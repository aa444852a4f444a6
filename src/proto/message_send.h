// The send operations of a connection, from post to outcome: they leave in post order, each as an advert or
// an immediate, and end in post order even when a later one is finished first.
#pragma once

#include <cstdint>

#include "src/base/fifo.h"
#include "src/proto/advert.h"
#include "src/proto/connection.h"
#include "src/proto/send_side.h"

namespace exs::proto {

// Thread: shard.
class MessageSends final : public SendSide {
 public:
  MessageSends(Link& link, Outbox& outbox, Credits& credits, Counters& counters, const Agreement& agreement,
               std::uint32_t first_sequence);

  void post(const Operation& operation) override;
  Status transmit() override;
  void flush() override { released_ = operations_.count(); }
  [[nodiscard]] bool combines() const noexcept override { return false; }
  void left(std::uint64_t operation_id) override;
  void written(std::uint64_t /*id*/) override {}
  Status acknowledged(const wire::Message& message) override;
  Status told(const wire::Message& message) override;
  void refuse_later(int error) override;
  void stop(int error) override;
  void revoke() override {}
  void all_left() override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  void deliver(OutcomeSink& sink) override;

  [[nodiscard]] bool all_sent() const noexcept override { return handled_ == operations_.count(); }
  [[nodiscard]] bool idle() const noexcept override { return operations_.empty(); }
  [[nodiscard]] bool adverts_outstanding() const noexcept override { return adverts_.outstanding() > 0; }
  [[nodiscard]] bool stalled() const noexcept override {
    return released_ > handled_ && credits_.available() == 0;
  }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  enum class State : std::uint8_t { kWaiting, kSent, kFinished };
  struct Entry {
    Operation operation;
    State state = State::kWaiting;
    Outcome outcome;
  };

  Status send_next();
  Entry& entry(std::uint64_t operation_id) { return operations_[operation_id - first_id_]; }
  static void refuse(Entry& unsent, int error);
  void note_stall();

  Outbox& outbox_;
  Credits& credits_;
  Counters& counters_;
  const Agreement& agreement_;
  Adverts adverts_;
  Fifo<Entry> operations_;
  std::uint64_t first_id_ = 0;             // of the operation at the front
  std::size_t handled_ = 0;                // leading operations that need no sending (any more)
  std::size_t released_ = 0;               // leading operations that MSG_MORE does not hold back
  std::uint64_t stalled_id_ = UINT64_MAX;  // counted as stalled already
  std::uint32_t next_sequence_;
  int stop_error_ = 0;
};

}  // namespace exs::proto
