// The send operations of a stream. Short ones share IMMEDIATEs with their neighbours, long ones leave as one
// ADVERT a piece; either way their bytes leave in post order, and they end in post order.
//
// Design notes
//  1. A burst is the sends that are posted between two polls of the network. A caller may post one send, wait,
//     and want it gone at once; or it posts many, which had better leave together. So the first short send of a
//     burst leaves at once, and later ones are held back until their message is full, flush() or end_burst(). A
//     burst that follows a crowded one is expected to be crowded too: its first send is held back as well.
//  2. Bytes are copied when their message leaves, not before: until then an operation can be cancelled whole.
//     A message that is exactly one operation is not copied at all.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fifo.h"
#include "src/proto/advert.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/send_side.h"
#include "src/proto/slice_cursor.h"

namespace exs::proto {

// Thread: shard.
class StreamSends final : public SendSide {
 public:
  StreamSends(Link& link, Outbox& outbox, Credits& credits, Counters& counters, const Agreement& agreement,
              std::uint32_t first_sequence);

  void post(const Operation& operation) override;
  Status transmit() override;
  void flush() override { released_id_ = end_id(); }
  [[nodiscard]] bool is_combining() const noexcept override {
    return combined_id_ > released_id_ && combined_id_ > sending_id_;
  }
  void end_burst() override;
  void set_nodelay(bool nodelay) override;
  void on_sent(std::uint64_t message_id) override;
  Status on_control(const wire::Message& message) override;
  void stop(int error) override;
  void on_all_received() override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  void deliver(OutcomeSink& sink) override;

  [[nodiscard]] bool all_sent() const noexcept override { return sending_id_ == end_id(); }
  [[nodiscard]] bool idle() const noexcept override { return operations_.empty() && !adverts_.recalling(); }
  [[nodiscard]] bool adverts_outstanding() const noexcept override {
    return adverts_.outstanding() > 0 || adverts_.recalling();
  }
  [[nodiscard]] bool stalled() const noexcept override {
    return !all_sent() && may_leave() && credits_.available() == 0;
  }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  // kCancelled: its outcome is due out of turn; kGone: and has been given.
  enum class State : std::uint8_t { kWaiting, kSent, kFinished, kCancelled, kGone };
  struct QueuedBytes {
    Operation operation;
    State state = State::kWaiting;
    bool is_short = false;  // travels in IMMEDIATEs
    std::uint32_t adverts_unacked = 0;
    Outcome outcome;
  };
  using Buffer = std::unique_ptr<std::byte[]>;
  // An IMMEDIATE under way.
  struct Message {
    std::uint64_t end_id = 0;  // short operations before this one have left when it has
    Buffer buffer;             // null: its payload is an operation's own memory
  };
  // What the next IMMEDIATE takes.
  struct Load {
    std::size_t bytes = 0;
    std::uint64_t end_id = 0;  // first operation that it does not take whole
    std::uint32_t whole = 0;   // operations whose last byte it takes
    std::uint32_t parts = 0;   // operations of which it takes anything
    SliceCursor rest;          // when `splits`: of the operation at end_id
    bool splits = false;
  };

  [[nodiscard]] std::uint64_t end_id() const noexcept { return first_id_ + operations_.count(); }
  [[nodiscard]] QueuedBytes& entry(std::uint64_t id) { return operations_[id - first_id_]; }
  // The operation at sending_id_ is not held back, or there is enough for a full message.
  [[nodiscard]] bool may_leave() const noexcept {
    return sending_id_ < released_id_ ||
           (long_waiting_ == 0 && short_bytes_ > 0 && short_bytes_ >= small_bytes_);
  }
  void release_in_burst(const QueuedBytes& posted);
  Status on_ack(const wire::Message& message);
  Status on_recall_ack(const wire::Message& message);
  Status send_short(QueuedBytes& next);
  Load load_into(std::byte* buffer);
  Status send_load(const Load& load, const LocalSlice& payload, Buffer buffer);
  Status send_long(QueuedBytes& next);
  void give_up_rest(int error);
  static void finish_if_acknowledged(QueuedBytes& sent);
  void refuse(QueuedBytes& unsent, int error);
  void note_stall();
  Buffer take_buffer();
  void keep_buffer(Buffer buffer);

  Outbox& outbox_;
  Credits& credits_;
  Counters& counters_;
  const std::size_t small_bytes_;
  Adverts adverts_;

  Fifo<QueuedBytes> operations_;
  std::uint64_t first_id_ = 0;     // of the operation at the front
  std::uint64_t sending_id_ = 0;   // operations before this one need no sending (any more)
  std::uint64_t released_id_ = 0;  // those before this one are not held back
  std::uint64_t combined_id_ = 0;  // those before this one are held back by nothing but combining
  bool begun_ = false;             // a part of the one at sending_id_ has left, `rest_` has not
  SliceCursor rest_;
  std::size_t short_bytes_ = 0;  // of short operations, still to leave
  std::size_t long_waiting_ = 0;

  Fifo<Message> messages_;
  std::uint64_t left_id_ = 0;    // short operations before this one have left
  std::vector<Buffer> buffers_;  // at hand
  std::uint32_t next_sequence_;
  std::uint64_t stalled_id_ = UINT64_MAX;  // counted as stalled already
  std::uint32_t posts_in_burst_ = 0;       // short ones
  bool crowded_ = false;                   // the last burst had several
  bool nodelay_ = false;
  bool some_cancelled_ = false;
};

}  // namespace exs::proto
