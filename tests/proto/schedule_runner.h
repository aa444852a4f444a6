// Runs two connections on a pair of fake links, one thing that can happen at a time, and checks after each
// what must always hold. What is posted, and what must come of it, is up to the schedules: schedule.h
// (messages), stream_schedule.h, persistent_schedule.h.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "src/proto/connection.h"
#include "src/wire/codec.h"
#include "tests/proto/connection_pair.h"
#include "tests/support/fake_link.h"

namespace exs::proto {

struct Shape {
  std::uint32_t forth_credits = 1;  // initiator to responder
  std::uint32_t back_credits = 1;
  std::uint32_t small_bytes = 0;
  std::uint32_t reads = 1;
  std::uint64_t chunk_bytes = 16;
  bool sends_now = false;         // messages leave as they are posted, if they can
  bool shows_messages = false;    // and are taken where they arrive, if they may
  bool reads_now = false;         // windows are read as receives are posted, if they can
  std::uint32_t credits_max = 0;  // to which the credits of each direction may grow
};

// A thing that a schedule does; what its number and flags mean is up to its kind.
struct Step {
  unsigned kind = 0;  // of the vocabulary of the schedule
  unsigned end = 0;   // 0 initiator, 1 responder
  unsigned number = 0;
  unsigned flags = 0;
};

// What memory holds where no message was put, or after a send gave it back.
inline constexpr std::byte kGuard{0xee};

// One end; a schedule adds its operations.
struct ScheduledEnd : OutcomeSink, MessageTaker {
  bool take(const ArrivingMessage& message) override {
    const auto deliver = [this](const Operation& receive, std::uint64_t payload_bytes) {
      completed(Direction::kReceive, receive, received_immediate(receive, payload_bytes));
    };
    return connection->take_short(message, deliver) || connection->take(message);
  }
  void ready() override {}
  void peer_stopped_receiving() override {
    if (++stopped_count > 1) wrong("told twice that the peer stopped receiving");
  }
  void closed() override {
    ++closed_count;
    check_over();
  }
  void failed(Status) override {
    ++failed_count;
    if (link->is_open()) wrong("failed with the link open");
    check_over();
  }
  void check_over() {
    if (closed_count + failed_count > 1) wrong("ended twice");
    if (!all_ended()) wrong("ended before its operations");
  }
  // Every operation has had its outcome.
  [[nodiscard]] virtual bool all_ended() const = 0;
  [[nodiscard]] bool is_over() const { return closed_count + failed_count > 0; }
  void wrong(const std::string& what) {
    if (first_wrong->empty()) *first_wrong = what;
  }

  std::string* first_wrong = nullptr;
  std::unique_ptr<test::FakeLink> link;
  Counters counters;
  std::unique_ptr<Connection> connection;
  unsigned starved_steps = 0;
  int stopped_count = 0, closed_count = 0, failed_count = 0;
};

template <typename End>
class ScheduleRunner {
 public:
  ScheduleRunner(const ScheduleRunner&) = delete;
  ScheduleRunner& operator=(const ScheduleRunner&) = delete;

  // False: the link refused.
  bool start() { return ends_[1].connection->start().ok() && ends_[0].connection->start().ok(); }

  // Both ends close, one early and one late, then everything that can happen.
  void finish() {
    for (End& end : ends_) {
      if (!end.is_over()) end.connection->close();
      run();
    }
  }
  void run() {
    // Every step uses up something that was posted, so a schedule that does not come to rest is wrong.
    for (End& end : ends_) end.starved_steps = 0;
    for (int steps = 0; step(static_cast<unsigned>(steps)); ++steps) {
      check();
      if (steps > 100'000) return note("does not come to rest");
    }
  }

  // One of the things that can happen to the links and their completions. False: it cannot now.
  static constexpr unsigned kStepKinds = 12;
  bool happens(unsigned kind) {
    if (!try_step(kind)) return false;
    check();
    return true;
  }

  End& end(unsigned index) { return ends_[index]; }
  // Null: all well.
  [[nodiscard]] const std::string* first_wrong() const {
    if (!wrong_.empty()) return &wrong_;
    return violations_.empty() ? nullptr : &violations_.front();
  }
  // The first thing that was wrong; empty: all well.
  [[nodiscard]] std::string wrong_so_far() const {
    if (!wrong_.empty()) return wrong_;
    return violations_.empty() ? "" : "violation: " + violations_.front();
  }
  // After finish().
  [[nodiscard]] std::string wrong_at_end() {
    for (unsigned i = 0; i < 2; ++i) {
      if (!ends_[i].is_over()) note("neither closed nor failed");
      if (!ends_[i].all_ended()) note("operation lost");
      check_at_end(ends_[i], ends_[1 - i]);
    }
    return wrong_so_far();
  }

 protected:
  ScheduleRunner(const Shape& shape, SocketKind kind) : shape_(shape) {
    Agreement agreement = agreement_of(shape.forth_credits, shape.small_bytes, shape.reads);
    agreement.receive_credits = shape.back_credits;
    agreement.kind = kind;
    if (shape.credits_max > 0 && kind != SocketKind::kTagged) agreement.version = wire::kVersionMax;
    agreement.receive_credits_max = static_cast<std::uint16_t>(shape.credits_max);
    for (unsigned i = 0; i < 2; ++i) {
      const Agreement ours = i == 0 ? agreement : mirrored(agreement);
      End& end = ends_[i];
      end.first_wrong = &wrong_;
      {
        const test::InLinks links;
        end.link = std::make_unique<test::FakeLink>(violations_, link_depths(ours));
      }
      end.connection =
          std::make_unique<Connection>(i == 0 ? Role::kInitiator : Role::kResponder, ours, *end.link, end,
                                       end.counters, Tuning{shape.chunk_bytes, UINT32_MAX - 5});
      if (shape.sends_now) end.link->let_send_now();
      if (shape.reads_now) end.link->let_read_now();
      if (shape.shows_messages) end.link->show_messages_to(end);
    }
    test::FakeLink::join(*ends_[0].link, *ends_[1].link);
  }
  ~ScheduleRunner() = default;

  // What came of the operations of `end`, whose peer is `peer`.
  virtual void check_at_end(End& end, End& peer) = 0;

  void note(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  static void post(End& end, Direction direction, const Operation& operation) {
    const test::InTested connection;
    if (post_short(end, direction, operation)) return;
    if (direction == Direction::kSend) {
      end.connection->post_send(operation);
    } else {
      end.connection->post_receive(operation);
    }
  }
  // As a session does: the short way first, where that may be.
  static bool post_short(End& end, Direction direction, const Operation& operation) {
    const bool is_plain = !operation.never_immediate && !operation.persistent && !operation.at_offset &&
                          !operation.more && !operation.wait_all && operation.vector.empty();
    if (!is_plain) return false;
    if (direction == Direction::kSend) {
      if (end.connection->send_short(operation.memory) != ShortSend::kSent) return false;
      end.completed(direction, operation, sent_immediate(operation));
      return true;
    }
    Fifo<Operation>* const receives = end.connection->short_receives();
    if (receives == nullptr) return false;
    Operation& posted = receives->append();
    posted = operation;
    posted.is_short = true;
    return true;
  }
  // The links break the way a failed call would have them break.
  void break_links(int error) {
    for (End& end : ends_) end.link->break_off(Status(error));
  }

  // The first thing that can happen, looking from `number` on.
  bool step(unsigned number) {
    for (unsigned i = 0; i < kStepKinds; ++i) {
      if (try_step((number + i) % kStepKinds)) return true;
    }
    return false;
  }
  void check() {
    if (!ends_[0].link->is_open() || !ends_[1].link->is_open()) return;
    check_credits(ends_[0], ends_[1], shape_.forth_credits);
    check_credits(ends_[1], ends_[0], shape_.back_credits);
  }

  const Shape shape_;
  std::string wrong_;
  std::vector<std::string> violations_;
  std::array<End, 2> ends_;

 private:
  bool try_step(unsigned kind) {
    End& end = ends_[kind % 2];
    switch (kind / 2) {
      case 0: {
        if (end.starved_steps > 0) return --end.starved_steps, false;
        const auto completion = end.link->poll();
        if (!completion) return false;
        end.connection->handle(*completion);
        // What the owner of a closed connection does.
        if (end.closed_count > 0) end.link->close();
        return true;
      }
      case 1: return end.link->deliver_message();
      case 2: return end.link->finish_send();
      case 3: return end.link->begin_read();
      case 4: return end.link->finish_read();
      default: return end.link->deliver_end();
    }
  }

  // Credits of the data that go `from` -> `to`: none is lost and none is made.
  void check_credits(const End& from, const End& to, std::uint32_t total) {
    using wire::MessageType;
    std::size_t in_flight = 0;
    for (const test::Bytes& message : to.link->unpolled()) {
      const MessageType type = wire::decode(message)->header.type;
      in_flight +=
          type == MessageType::kAdvert || type == MessageType::kImmediate || type == MessageType::kNotice;
    }
    for (const test::Bytes& message : from.link->unpolled()) {
      const auto decoded = wire::decode(message);
      in_flight += decoded->header.credits;
      in_flight += decoded->granted;
    }
    total = std::max(total, to.connection->credits().receive_total());
    const std::size_t sum = from.connection->credits().available() + in_flight +
                            to.connection->credits_held() + to.connection->credits().owed();
    if (sum != total) note("credits: " + std::to_string(sum) + " of " + std::to_string(total));
  }
};

}  // namespace exs::proto
