// Random operations of every kind on two connections, with everything that must hold whatever the order of
// events. Looser than schedule.h about which receive gets what, for persistence and cancels change that.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "src/wire/codec.h"
#include "tests/proto/persistent.h"
#include "tests/proto/schedule.h"

namespace exs::proto {

struct Action {
  enum Kind {
    kStep,
    kSend,
    kReceive,
    kSendAt,
    kReceiveAt,
    kPersistentSend,
    kPersistentReceive,
    kCancel,
    kProbe,
    kFlush,
    kShutdownSending,
    kShutdownReceiving,
    kClose,
    kBreak,
  };
  Kind kind = kStep;
  unsigned end = 0;
  unsigned number = 0;
  unsigned size = 0;
};

// Lives as long as the schedule, so that whoever touches it late is seen.
struct AnyPosted {
  Bytes memory;
  std::vector<LocalSlice> pieces;
  Operation operation;
  Direction direction = Direction::kSend;
  int outcomes = 0;
  Outcome outcome;
  Bytes at_outcome;
  std::uint64_t told_bytes = 0;
};

struct AnyEnd final : OutcomeSink {
  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    auto& ended = *static_cast<AnyPosted*>(operation.tag.handle);
    if (ended.direction != direction) wrong("outcome of the other direction");
    if (++ended.outcomes > 1) wrong("two outcomes");
    if (over > 0) wrong("outcome after the end");
    if (!ended.memory.empty() && link->exposes(ended.memory.data())) wrong("ended with its window open");
    ended.outcome = outcome;
    ended.at_outcome = ended.memory;
    if (outcome.error == 0 && ended.operation.notify && ended.told_bytes > outcome.length_bytes)
      wrong("told of more than there was");
  }
  void used(Direction, const Operation& operation, const Usage& usage) override {
    auto& owner = *static_cast<AnyPosted*>(operation.tag.handle);
    if (!owner.operation.notify || owner.outcomes > 0) wrong("told without need");
    if (usage.transfers == 0 || usage.last_offset > owner.memory.size()) wrong("strange usage");
    owner.told_bytes += usage.bytes;
  }
  void ready() override {}
  void peer_stopped_receiving() override {}
  void closed() override { ++over, closed_count = 1; }
  void failed(Status) override { ++over; }
  void wrong(const std::string& what) {
    if (first_wrong->empty()) *first_wrong = what;
  }

  std::string* first_wrong = nullptr;
  std::unique_ptr<FakeLink> link;
  std::unique_ptr<Connection> connection;
  std::deque<AnyPosted> posted;
  int over = 0;
  int closed_count = 0;
};

class PersistentSchedule {
 public:
  explicit PersistentSchedule(const Shape& shape) : shape_(shape) {
    Agreement agreement = agreement_of(shape.forth_credits, shape.small_bytes, shape.reads);
    agreement.receive_credits = shape.back_credits;
    for (unsigned i = 0; i < 2; ++i) {
      const Agreement ours = i == 0 ? agreement : mirrored(agreement);
      AnyEnd& end = ends_[i];
      end.first_wrong = &wrong_;
      end.link = std::make_unique<FakeLink>(violations_, link_depths(ours));
      end.connection =
          std::make_unique<Connection>(i == 0 ? Role::kInitiator : Role::kResponder, ours, *end.link, end,
                                       Tuning{shape.chunk_bytes, UINT32_MAX - 5});
    }
    FakeLink::join(*ends_[0].link, *ends_[1].link);
  }
  bool start() { return ends_[1].connection->start().ok() && ends_[0].connection->start().ok(); }
  AnyEnd& end(unsigned index) { return ends_[index]; }

  void carry_out(const Action& action) {
    AnyEnd& end = ends_[action.end];
    if (action.kind == Action::kStep) {
      step(action.number);
    } else if (end.over == 0) {
      act(end, action);
    }
    check();
  }
  void run() {
    for (int steps = 0; step(static_cast<unsigned>(steps)); ++steps) {
      check();
      if (steps > 100'000) return note("does not come to rest");
    }
  }
  void finish() {
    for (AnyEnd& end : ends_) {
      if (end.over == 0) end.connection->close();
      run();
    }
  }
  [[nodiscard]] std::string wrong_so_far() const {
    if (!wrong_.empty()) return wrong_;
    return violations_.empty() ? "" : "violation: " + violations_.front();
  }
  [[nodiscard]] std::string wrong_at_end() {
    for (unsigned i = 0; i < 2; ++i) {
      AnyEnd& end = ends_[i];
      if (end.over != 1) note("neither closed nor failed");
      for (AnyPosted& posted : end.posted) {
        if (posted.outcomes != 1) note("operation lost");
        if (posted.memory != posted.at_outcome) note("memory touched after its outcome");
        if (posted.direction == Direction::kReceive) check_received(posted, ends_[1 - i]);
      }
    }
    return wrong_so_far();
  }

  // Posts on `bytes` of memory of its own; sends have a pattern that no other has.
  AnyPosted& post(AnyEnd& end, Action::Kind kind, std::size_t bytes, unsigned number) {
    AnyPosted& made = end.posted.emplace_back();
    const bool is_send = kind == Action::kSend || kind == Action::kSendAt || kind == Action::kPersistentSend;
    made.direction = is_send ? Direction::kSend : Direction::kReceive;
    made.memory = is_send ? pattern(bytes, next_seed_++) : Bytes(bytes, kGuard);
    Operation& operation = made.operation;
    operation.memory = {made.memory.data(), bytes, {}};
    operation.tag.handle = &made;
    operation.persistent = kind == Action::kPersistentSend || kind == Action::kPersistentReceive;
    operation.notify = operation.persistent && number % 2 == 0;
    operation.at_offset = kind == Action::kSendAt || kind == Action::kReceiveAt;
    operation.offset = operation.at_offset ? number : 0;
    operation.never_immediate = kind == Action::kSend && number % 3 == 0;
    operation.more = kind == Action::kSend && number % 7 == 0;
    if (!operation.persistent && number % 4 == 0) cut(made, number);
    if (is_send) {
      end.connection->post_send(operation);
    } else {
      end.connection->post_receive(operation);
    }
    return made;
  }

 private:
  void note(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  static void cut(AnyPosted& made, unsigned number) {
    std::size_t start = 0;
    for (std::size_t piece = number % 5; start < made.memory.size(); piece += 3) {
      const std::size_t bytes = std::min(piece, made.memory.size() - start);
      made.pieces.push_back({made.memory.data() + start, bytes, {}});
      start += bytes;
    }
    made.operation.vector = made.pieces;
    if (!made.pieces.empty()) made.operation.memory.address = nullptr;
  }
  void act(AnyEnd& end, const Action& action) {
    Connection& connection = *end.connection;
    switch (action.kind) {
      case Action::kCancel: return cancel(end, action.number);
      case Action::kProbe: return connection.probe();
      case Action::kFlush: return connection.flush();
      case Action::kShutdownSending: return connection.shutdown_sending();
      case Action::kShutdownReceiving: return connection.shutdown_receiving();
      case Action::kClose: return connection.close();
      case Action::kBreak:
        for (AnyEnd& each : ends_) each.link->break_off(Status(ECONNRESET));
        return;
      default: post(end, action.kind, action.size, action.number);
    }
  }
  void cancel(AnyEnd& end, unsigned number) {
    const Direction direction = number % 2 == 0 ? Direction::kSend : Direction::kReceive;
    Selection selection;
    if (number % 3 != 0 && !end.posted.empty()) {
      selection = {false, &end.posted[number % end.posted.size()], UINT64_MAX};
    }
    const Cancelled cancelled = end.connection->cancel(direction, selection, ECANCELED);
    if (cancelled.begun > cancelled.matched) note("more begun than matched");
  }

  bool step(unsigned number) {
    for (unsigned i = 0; i < 12; ++i) {
      if (try_step((number + i) % 12)) return true;
    }
    return false;
  }
  bool try_step(unsigned kind) {
    AnyEnd& end = ends_[kind % 2];
    switch (kind / 2) {
      case 0: {
        const auto completion = end.link->poll();
        if (!completion) return false;
        end.connection->handle(*completion);
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

  void check() {
    if (!ends_[0].link->is_open() || !ends_[1].link->is_open()) return;
    check_credits(ends_[0], ends_[1], shape_.forth_credits);
    check_credits(ends_[1], ends_[0], shape_.back_credits);
  }
  void check_credits(const AnyEnd& from, const AnyEnd& to, std::uint32_t total) {
    using wire::MessageType;
    std::size_t in_flight = 0;
    for (const Bytes& message : to.link->unpolled()) {
      const MessageType type = wire::decode(message)->header.type;
      in_flight +=
          type == MessageType::kAdvert || type == MessageType::kImmediate || type == MessageType::kNotice;
    }
    for (const Bytes& message : from.link->unpolled()) in_flight += wire::decode(message)->header.credits;
    const std::size_t sum = from.connection->credits().available() + in_flight +
                            to.connection->credits_held() + to.connection->credits().owed();
    if (sum != total) note("credits: " + std::to_string(sum) + " of " + std::to_string(total));
  }

  // What a receive got is one stretch of one send of the peer, and the rest is as it was. What a persistent
  // one got are bytes of sends, each where its send says.
  void check_received(const AnyPosted& received, const AnyEnd& from) {
    const Operation& operation = received.operation;
    if (operation.persistent) {
      for (std::size_t i = 0; i < received.memory.size(); ++i) {
        if (received.memory[i] != kGuard && !somebody_put(from, i, received.memory[i])) note("wrong byte");
      }
      return;
    }
    if (received.outcome.error != 0) return;
    const std::size_t bytes = received.outcome.length_bytes;
    for (std::size_t i = bytes; i < received.memory.size(); ++i) {
      if (received.memory[i] != kGuard) return note("more touched than told");
    }
    if (bytes == 0) return;
    const std::size_t offset = operation.at_offset ? operation.offset : 0;
    for (const AnyPosted& sent : from.posted) {
      if (sent.direction != Direction::kSend || sent.memory.size() < offset + bytes) continue;
      if (std::equal(received.memory.begin(), received.memory.begin() + static_cast<std::ptrdiff_t>(bytes),
                     sent.memory.begin() + static_cast<std::ptrdiff_t>(offset))) {
        return;
      }
    }
    note("received what nobody sent");
  }
  static bool somebody_put(const AnyEnd& from, std::size_t at, std::byte value) {
    for (const AnyPosted& sent : from.posted) {
      const std::size_t offset = sent.operation.at_offset ? sent.operation.offset : 0;
      const bool covers =
          sent.direction == Direction::kSend && at >= offset && at - offset < sent.memory.size();
      if (covers && sent.memory[at - offset] == value) return true;
    }
    return false;
  }

  const Shape shape_;
  std::string wrong_;
  std::vector<std::string> violations_;
  std::array<AnyEnd, 2> ends_;
  unsigned next_seed_ = 1;
};

}  // namespace exs::proto
