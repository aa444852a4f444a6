// The vocabulary of persistence: random operations of every kind. Looser than schedule.h about which receive
// gets what, because persistence and cancels change that.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "tests/proto/schedule_runner.h"

namespace exs::proto {

struct Action {
  // The number of posts: bytes. All else goes by the flags: how to post, which to cancel, which of the things that
  // can happen.
  enum Kind : unsigned {
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

struct AnyEnd final : ScheduledEnd {
  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    const test::InUser user;
    auto& ended = *static_cast<AnyPosted*>(operation.tag.handle);
    if (ended.direction != direction) wrong("outcome of the other direction");
    if (++ended.outcomes > 1) wrong("two outcomes");
    if (is_over()) wrong("outcome after the end");
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
  [[nodiscard]] bool all_ended() const override {
    return std::all_of(posted.begin(), posted.end(),
                       [](const AnyPosted& each) { return each.outcomes == 1; });
  }

  std::deque<AnyPosted> posted;
};

class PersistentSchedule final : public ScheduleRunner<AnyEnd> {
 public:
  explicit PersistentSchedule(const Shape& shape) : ScheduleRunner(shape, SocketKind::kMessage) {}

  void carry_out(const Step& action) {
    AnyEnd& end = ends_[action.end];
    if (action.kind == Action::kStep) {
      step(action.flags);
    } else if (!end.is_over()) {
      act(end, action);
    }
    check();
  }
  // Posts on `bytes` of memory of its own; sends have a pattern that no other has.
  AnyPosted& post(AnyEnd& end, unsigned kind, std::size_t bytes, unsigned flags) {
    AnyPosted& made = end.posted.emplace_back();
    const bool is_send = kind == Action::kSend || kind == Action::kSendAt || kind == Action::kPersistentSend;
    made.direction = is_send ? Direction::kSend : Direction::kReceive;
    made.memory =
        is_send ? pattern(bytes, next_seeds_.at(&end == &ends_[0] ? 0 : 1)++) : Bytes(bytes, kGuard);
    Operation& operation = made.operation;
    operation.memory = {made.memory.data(), bytes, {}};
    operation.tag.handle = &made;
    operation.persistent = kind == Action::kPersistentSend || kind == Action::kPersistentReceive;
    operation.notify = operation.persistent && flags % 2 == 0;
    operation.at_offset = kind == Action::kSendAt || kind == Action::kReceiveAt;
    operation.offset = operation.at_offset ? flags : 0;
    operation.never_immediate = kind == Action::kSend && flags % 3 == 0;
    operation.more = kind == Action::kSend && flags % 7 == 0;
    if (!operation.persistent && flags % 4 == 0) cut(made, flags);
    ScheduleRunner::post(end, made.direction, operation);
    return made;
  }

 private:
  static void cut(AnyPosted& made, unsigned flags) {
    std::size_t start = 0;
    for (std::size_t piece = flags % 5; start < made.memory.size(); piece += 3) {
      const std::size_t bytes = std::min(piece, made.memory.size() - start);
      made.pieces.push_back({made.memory.data() + start, bytes, {}});
      start += bytes;
    }
    made.operation.vector = made.pieces;
    if (!made.pieces.empty()) made.operation.memory.address = nullptr;
  }
  void act(AnyEnd& end, const Step& action) {
    Connection& connection = *end.connection;
    switch (action.kind) {
      case Action::kCancel: return cancel(end, action.flags);
      case Action::kProbe: return connection.probe();
      case Action::kFlush: return connection.flush();
      case Action::kShutdownSending: return connection.shutdown_sending();
      case Action::kShutdownReceiving: return connection.shutdown_receiving();
      case Action::kClose: return connection.close();
      case Action::kBreak: return break_links(ECONNRESET);
      default: post(end, action.kind, action.number, action.flags);
    }
  }
  void cancel(AnyEnd& end, unsigned flags) {
    const Direction direction = flags % 2 == 0 ? Direction::kSend : Direction::kReceive;
    Selection selection;
    if (flags % 3 != 0 && !end.posted.empty()) {
      selection = {false, &end.posted[flags % end.posted.size()], UINT64_MAX};
    }
    const Cancelled cancelled = end.connection->cancel(direction, selection, ECANCELED);
    if (cancelled.begun > cancelled.matched) note("more begun than matched");
  }

  void check_at_end(AnyEnd& end, AnyEnd& peer) override {
    for (const AnyPosted& posted : end.posted) {
      if (posted.memory != posted.at_outcome) note("memory touched after its outcome");
      if (posted.direction == Direction::kReceive) check_received(posted, peer);
    }
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
      if (equal_bytes(std::span(received.memory).first(bytes), std::span(sent.memory).subspan(offset, bytes)))
        return;
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

  std::array<unsigned, 2> next_seeds_{1, 101};  // of each end
};

}  // namespace exs::proto
