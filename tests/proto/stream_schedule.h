// The vocabulary of streams: the bytes received are those sent, in their order, none lost, none twice,
// whatever was posted, cancelled, shut down or closed and in which order things happened.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/proto/schedule_runner.h"

namespace exs::proto {

struct StreamDecision {
  enum Kind : unsigned {
    kStep,
    kSend,
    kReceive,
    kEndBurst,
    kFlush,
    kNodelay,  // number: odd on, even off
    kCancel,   // number: of the operation, modulo those posted; odd flags sends, even receives
    kStarve,   // the end takes in no completions for a while; the link goes on
    kShutdownSending,
    kShutdownReceiving,
    kClose,
    kAbort,
    kBreak,  // 0 orderly, else broken
  };
  static constexpr unsigned kNormal = 1, kMore = 2, kWaitAll = 4;  // bits of `flags`; above them: pieces
};

struct StreamOperation {
  Bytes memory;  // with guards between the pieces of a vector
  std::vector<LocalSlice> pieces;
  std::size_t length_bytes = 0;
  bool wait_all = false;
  bool cancelled = false;  // receives: by cancel(), not begun with
  bool cancel_asked = false;
  bool ended = false;
  Outcome outcome;
  Bytes at_outcome;

  [[nodiscard]] bool is_cancelled() const { return ended && cancel_asked && outcome.error == ECANCELED; }
  // The connection was lost before the peer's answer came.
  [[nodiscard]] bool may_be_recalled() const { return cancel_asked && (!ended || outcome.error != 0); }
  // The first bytes of the operation's memory, from wherever they lie.
  [[nodiscard]] Bytes bytes_of(const Bytes& image, std::size_t count) const {
    Bytes gathered;
    for (const LocalSlice& piece : pieces) {
      const auto start = image.begin() + (piece.address - memory.data());
      const auto taken = static_cast<std::ptrdiff_t>(std::min(piece.length_bytes, count - gathered.size()));
      gathered.insert(gathered.end(), start, start + taken);
    }
    return gathered;
  }
};

struct StreamEnd final : ScheduledEnd {
  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    const test::InUser user;
    const bool is_send = direction == Direction::kSend;
    std::size_t& next = is_send ? sends_ended : receives_ended;
    std::deque<StreamOperation>& posted = is_send ? sends : receives;
    ++next;
    const auto is_it = [&](const StreamOperation& each) { return operation.tag.handle == &each; };
    const auto found = std::find_if(posted.begin(), posted.end(), is_it);
    if (found == posted.end()) return wrong("outcome of nothing posted");
    StreamOperation& ended = *found;
    if (ended.ended) wrong("two outcomes");
    // A send that is taken back need not wait for those before it.
    const bool in_turn =
        std::all_of(posted.begin(), found, [](const StreamOperation& each) { return each.ended; });
    if (!in_turn && !(is_send && outcome.error == ECANCELED)) wrong("outcome out of order");
    ended.ended = true;
    ended.outcome = outcome;
    ended.at_outcome = ended.memory;
    if (!is_send) return;
    for (const LocalSlice& piece : ended.pieces) {
      if (piece.length_bytes > 0 && link->exposes(piece.address)) wrong("send ended with its window open");
    }
    std::fill(ended.memory.begin(), ended.memory.end(), kGuard);  // it is the user's again
  }
  void used(Direction, const Operation&, const Usage&) override { wrong("a stream has nothing persistent"); }
  [[nodiscard]] bool all_ended() const override {
    return sends_ended == sends.size() && receives_ended == receives.size();
  }

  std::deque<StreamOperation> sends, receives;
  std::size_t sends_ended = 0, receives_ended = 0;
};

class StreamSchedule final : public ScheduleRunner<StreamEnd> {
 public:
  explicit StreamSchedule(const Shape& shape) : ScheduleRunner(shape, SocketKind::kStream) {}

  void carry_out(const Step& decision) {
    StreamEnd& end = ends_[decision.end];
    if (decision.kind == StreamDecision::kStep) {
      step(decision.number);
    } else if (decision.kind == StreamDecision::kStarve) {
      end.starved_steps = decision.number;
    } else if (decision.kind == StreamDecision::kBreak) {
      break_links(decision.number == 0 ? 0 : ECONNRESET);
    } else if (!end.is_over()) {
      act(end, decision);
    }
    check();
  }

  // Receives for every byte sent, then everything that can happen.
  void complete_transfers() {
    for (StreamEnd& end : ends_) {
      end.connection->end_burst();
      end.connection->flush();
    }
    run();
    for (unsigned i = 0; i < 2; ++i) collect(ends_[i], ends_[1 - i]);
  }
  // After complete_transfers() of a schedule without shutdown, close or failure.
  [[nodiscard]] std::string wrong_if_undisturbed() {
    for (unsigned i = 0; i < 2; ++i) {
      StreamEnd& end = ends_[i];
      if (end.is_over()) note("connection lost");
      if (end.sends_ended != end.sends.size()) note("send without outcome");
      for (const StreamOperation& send : end.sends) {
        if (send.outcome.error != 0 && !send.is_cancelled()) note("send failed");
        if (send.outcome.length_bytes != (send.is_cancelled() ? 0 : send.length_bytes)) note("sent in part");
      }
      if (expected(end) != received(ends_[1 - i])) note("not the bytes that were sent");
    }
    return wrong_so_far();
  }

 private:
  void collect(StreamEnd& from, StreamEnd& to) {
    const std::size_t sent = expected(from).size();
    for (std::size_t got = received(to).size(); got < sent && wrong_.empty();) {
      post(to, StreamDecision::kReceive, 50, 0);
      run();
      const std::size_t before = std::exchange(got, received(to).size());
      if (got > before) continue;
      // The rest can only be in a receive that waits for more than there is.
      cancel(to, {StreamDecision::kCancel, 0, static_cast<unsigned>(to.receives_ended), 0});
      run();
      got = received(to).size();
      if (got == before) note("bytes that no receive gets");
    }
  }

  void act(StreamEnd& end, const Step& decision) {
    Connection& connection = *end.connection;
    switch (decision.kind) {
      case StreamDecision::kSend:
      case StreamDecision::kReceive: return post(end, decision.kind, decision.number, decision.flags);
      case StreamDecision::kEndBurst: return connection.end_burst();
      case StreamDecision::kFlush: return connection.flush();
      case StreamDecision::kNodelay: return connection.set_nodelay(decision.number % 2 == 1);
      case StreamDecision::kCancel: return cancel(end, decision);
      case StreamDecision::kShutdownSending: return connection.shutdown_sending();
      case StreamDecision::kShutdownReceiving: return connection.shutdown_receiving();
      case StreamDecision::kClose: return connection.close();
      case StreamDecision::kAbort: return connection.abort(Status(ETIMEDOUT));
      default: return;
    }
  }

  void post(StreamEnd& end, unsigned kind, std::size_t bytes, unsigned flags) {
    const bool is_send = kind == StreamDecision::kSend;
    std::deque<StreamOperation>& posted = is_send ? end.sends : end.receives;
    StreamOperation& made = posted.emplace_back();
    made.length_bytes = bytes;
    made.wait_all = (flags & StreamDecision::kWaitAll) != 0;
    const std::size_t pieces = 1 + flags / 8 % 3;
    made.memory = Bytes(bytes + pieces, kGuard);
    std::size_t used = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t length = i + 1 == pieces ? bytes - used : bytes / pieces;
      made.pieces.push_back({made.memory.data() + used + i, length, {}});
      used += length;
    }
    if (is_send) {
      const Bytes content = pattern(bytes, static_cast<unsigned>(posted.size()));
      std::size_t at = 0;
      for (const LocalSlice& piece : made.pieces) {
        std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(at), piece.length_bytes, piece.address);
        at += piece.length_bytes;
      }
    }
    Operation operation;
    operation.memory = made.pieces[0];
    operation.memory.length_bytes = bytes;
    if (pieces > 1) operation.vector = made.pieces;
    operation.never_immediate = (flags & StreamDecision::kNormal) != 0;
    operation.more = (flags & StreamDecision::kMore) != 0;
    operation.wait_all = made.wait_all;
    operation.tag.handle = &made;
    ScheduleRunner::post(end, is_send ? Direction::kSend : Direction::kReceive, operation);
  }

  void cancel(StreamEnd& end, const Step& decision) {
    const bool is_send = decision.flags % 2 == 1;
    std::deque<StreamOperation>& posted = is_send ? end.sends : end.receives;
    if (posted.empty()) return;
    StreamOperation& chosen = posted[decision.number % posted.size()];
    const bool was_open = !chosen.ended;
    const Cancelled cancelled = end.connection->cancel(is_send ? Direction::kSend : Direction::kReceive,
                                                       {.any_handle = false, .handle = &chosen}, ECANCELED);
    if (cancelled.matched > (was_open ? 1U : 0U) || cancelled.begun > cancelled.matched)
      note("cancelled more than was posted");
    chosen.cancel_asked = true;
    chosen.cancelled |= !is_send && cancelled.matched > cancelled.begun;
  }

  void check_at_end(StreamEnd& end, StreamEnd& peer) override {
    for (const StreamOperation& receive : end.receives) check_receive(receive);
    check_bytes(end, peer);
  }

  void check_receive(const StreamOperation& receive) {
    const Outcome& outcome = receive.outcome;
    if (receive.memory != receive.at_outcome) note("memory touched after its outcome");
    if (outcome.length_bytes > receive.length_bytes) note("more received than there is room for");
    if (outcome.error != 0) return;
    const bool ended = (outcome.flags & kEndOfStream) != 0;
    if (!ended && outcome.length_bytes < (receive.wait_all ? receive.length_bytes : 1) &&
        receive.length_bytes > 0)
      note("ended too early");
    if (receive.cancelled) note("cancelled, and yet without an error");
    Bytes image = receive.at_outcome;
    std::size_t left = outcome.length_bytes;
    for (const LocalSlice& piece : receive.pieces) {
      const std::size_t filled = std::min(left, piece.length_bytes);
      std::fill_n(image.begin() + (piece.address - receive.memory.data()), filled, kGuard);
      left -= filled;
    }
    if (std::any_of(image.begin(), image.end(), [](std::byte byte) { return byte != kGuard; }))
      note("memory touched beyond what was received");
  }

  // What the sends of `from` come to, if all of it arrives.
  static Bytes expected(const StreamEnd& from) {
    Bytes bytes;
    for (std::size_t i = 0; i < from.sends.size(); ++i) {
      if (from.sends[i].is_cancelled()) continue;
      const Bytes content = pattern(from.sends[i].length_bytes, static_cast<unsigned>(i + 1));
      bytes.insert(bytes.end(), content.begin(), content.end());
    }
    return bytes;
  }
  static Bytes received(const StreamEnd& by) {
    Bytes bytes;
    for (const StreamOperation& receive : by.receives) {
      if (!receive.ended) continue;
      const Bytes content = receive.bytes_of(receive.at_outcome, receive.outcome.length_bytes);
      bytes.insert(bytes.end(), content.begin(), content.end());
    }
    return bytes;
  }

  // Whether `got` is what the sends from `first` on come to, as far as it goes.
  static bool is_start_of_sent(const StreamEnd& from, std::size_t first, std::span<const std::byte> got) {
    for (std::size_t i = first; i < from.sends.size() && !got.empty(); ++i) {
      const StreamOperation& send = from.sends[i];
      if (send.is_cancelled()) continue;
      if (send.may_be_recalled() && is_start_of_sent(from, i + 1, got)) return true;
      const Bytes content = pattern(send.length_bytes, static_cast<unsigned>(i + 1));
      const std::size_t bytes = std::min(content.size(), got.size());
      if (!equal_bytes(got.first(bytes), std::span(content).first(bytes))) return false;
      got = got.subspan(bytes);
    }
    return got.empty();
  }

  void check_bytes(const StreamEnd& from, const StreamEnd& to) {
    const Bytes got = received(to);
    if (!is_start_of_sent(from, 0, got)) note("not the bytes that were sent, in their order");
    bool over = false;
    for (const StreamOperation& receive : to.receives) {
      if (over && receive.outcome.length_bytes > 0) note("bytes after the end");
      over |= (receive.outcome.flags & kEndOfStream) != 0;
    }
    if (to.failed_count > 0) return;  // READs that were under way took their count with them
    std::size_t end = 0;
    for (const StreamOperation& send : from.sends) {
      if (send.is_cancelled() || send.may_be_recalled()) continue;
      end += send.length_bytes;
      const bool acknowledged = send.ended && send.outcome.error == 0 && send.length_bytes > 0 &&
                                (send.outcome.flags & kImmediate) == 0;
      if (acknowledged && end > got.size()) note("send ended well but was not received");
    }
  }
};

}  // namespace exs::proto
