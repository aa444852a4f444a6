// The send operations of a connection, from post to outcome: they leave in post order, each as an advert or
// an immediate, and end in post order even when a later one is finished first.
#pragma once

#include <cstdint>

#include "src/base/fifo.h"
#include "src/proto/advert.h"
#include "src/proto/connection.h"

namespace exs::proto {

// Thread: shard.
class Sends {
 public:
  Sends(Link& link, Outbox& outbox, Credits& credits, Counters& counters, const Agreement& agreement,
        std::uint32_t first_sequence);

  void post(const Operation& operation);
  // Sends what has a credit and room.
  Status transmit();
  // Completion of the immediate with this id.
  void left(std::uint64_t operation_id);
  Status acknowledged(const wire::Message& message);
  // Operations posted later end with `error`; the first call decides.
  void refuse_later(int error);
  // So do those not yet sent.
  void stop(int error);
  // The peer has told that everything we sent arrived, so all of it has left.
  void all_left();
  // Every open operation ends with `error`.
  void fail_all(int error);
  // Gives the outcomes that are due.
  void deliver(OutcomeSink& sink);

  [[nodiscard]] bool all_sent() const noexcept { return handled_ == operations_.count(); }
  [[nodiscard]] bool idle() const noexcept { return operations_.empty(); }
  [[nodiscard]] bool adverts_outstanding() const noexcept { return adverts_.outstanding() > 0; }

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
  std::uint64_t stalled_id_ = UINT64_MAX;  // counted as stalled already
  std::uint32_t next_sequence_;
  int stop_error_ = 0;
};

}  // namespace exs::proto
