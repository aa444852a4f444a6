// The vocabulary of messages: every receive gets the message it must get, whatever the order of events. A send
// that ends as cancelled is received by nobody.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <deque>
#include <string>

#include "tests/proto/schedule_runner.h"

namespace exs::proto {

struct Decision {
  // kStep's number: which of the things that can happen; that of posts: bytes; of kBreak: 0 orderly, else broken; of
  // kStarve: steps
  enum Kind : unsigned {
    kStep,
    kSend,
    kNormalSend,
    kReceive,
    kCancelSend,  // number: of the send, modulo those posted
    kShutdownSending,
    kShutdownReceiving,
    kClose,
    kAbort,
    kBreak,
    kStarve,  // the end takes in no completions for a while; the link goes on
  };
};

// An operation of the test, and what came of it.
struct Posted {
  Bytes memory;
  std::size_t length_bytes = 0;
  bool never_immediate = false;
  bool cancel_asked = false;
  bool ended = false;
  Outcome outcome;
  Bytes at_outcome;  // receives: the memory as it was handed back

  [[nodiscard]] bool is_cancelled() const { return ended && cancel_asked && outcome.error == ECANCELED; }
  // The connection was lost before the peer's answer came.
  [[nodiscard]] bool may_be_recalled() const { return cancel_asked && (!ended || outcome.error != 0); }
};

struct MessageEnd final : ScheduledEnd {
  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    const test::InUser user;
    const bool is_send = direction == Direction::kSend;
    std::size_t& next = is_send ? sends_ended : receives_ended;
    std::deque<Posted>& posted = is_send ? sends : receives;
    ++next;
    const auto is_it = [&](const Posted& each) { return operation.tag.handle == &each; };
    const auto found = std::find_if(posted.begin(), posted.end(), is_it);
    if (found == posted.end()) return wrong("outcome of nothing posted");
    Posted& ended = *found;
    if (ended.ended) wrong("two outcomes");
    const bool in_turn = std::all_of(posted.begin(), found, [](const Posted& each) { return each.ended; });
    if (!in_turn && !(ended.cancel_asked && outcome.error == ECANCELED)) wrong("outcome out of order");
    ended.ended = true;
    ended.outcome = outcome;
    if (is_send) {
      if (!ended.memory.empty() && link->exposes(ended.memory.data()))
        wrong("send ended with its window open");
      std::fill(ended.memory.begin(), ended.memory.end(), kGuard);  // it is the user's again
    } else {
      ended.at_outcome = ended.memory;
    }
  }
  void used(Direction, const Operation&, const Usage&) override {}
  [[nodiscard]] bool all_ended() const override {
    return sends_ended == sends.size() && receives_ended == receives.size();
  }

  std::deque<Posted> sends, receives;
  std::size_t sends_ended = 0, receives_ended = 0;
};

class Schedule final : public ScheduleRunner<MessageEnd> {
 public:
  explicit Schedule(const Shape& shape) : ScheduleRunner(shape, SocketKind::kMessage) {}

  void carry_out(const Step& decision) {
    MessageEnd& end = ends_[decision.end];
    if (decision.kind == Decision::kStep) {
      step(decision.number);
    } else if (decision.kind == Decision::kStarve) {
      end.starved_steps = decision.number;
    } else if (end.is_over()) {
      return;
    } else if (decision.kind <= Decision::kReceive) {
      post(end, decision.kind, decision.number);
    } else if (decision.kind == Decision::kCancelSend) {
      cancel_send(end, decision.number);
    } else if (decision.kind == Decision::kShutdownSending) {
      end.connection->shutdown_sending();
    } else if (decision.kind == Decision::kShutdownReceiving) {
      end.connection->shutdown_receiving();
    } else if (decision.kind == Decision::kClose) {
      end.connection->close();
    } else if (decision.kind == Decision::kAbort) {
      end.connection->abort(Status(ETIMEDOUT));
    } else {
      break_links(decision.number == 0 ? 0 : ECONNRESET);
    }
    check();
  }

  // A receive for every send, then everything that can happen.
  void complete_transfers() {
    for (unsigned i = 0; i < 2; ++i) {
      while (ends_[i].receives.size() < ends_[1 - i].sends.size()) post(ends_[i], Decision::kReceive, 50);
    }
    run();
  }
  // After complete_transfers() of a schedule without shutdown, close or failure.
  [[nodiscard]] std::string wrong_if_undisturbed() {
    for (unsigned i = 0; i < 2; ++i) {
      const MessageEnd& end = ends_[i];
      if (end.is_over()) note("connection lost");
      if (end.sends_ended != end.sends.size()) note("send without outcome");
      for (const Posted& send : end.sends) {
        if (send.ended && send.outcome.error != 0 && !send.is_cancelled()) note("send failed");
      }
      const auto& sent = ends_[1 - i].sends;
      const auto cancelled = static_cast<std::size_t>(
          std::count_if(sent.begin(), sent.end(), [](const Posted& each) { return each.is_cancelled(); }));
      if (end.receives_ended < sent.size() - cancelled) note("message not received");
      check_messages(ends_[i], ends_[1 - i]);
    }
    return wrong_so_far();
  }

 private:
  void post(MessageEnd& end, unsigned kind, std::size_t bytes) {
    const bool is_send = kind != Decision::kReceive;
    std::deque<Posted>& posted = is_send ? end.sends : end.receives;
    Posted& made = posted.emplace_back();
    made.length_bytes = bytes;
    made.never_immediate = kind == Decision::kNormalSend;
    made.memory = is_send ? pattern(bytes, static_cast<unsigned>(posted.size())) : Bytes(bytes, kGuard);
    Operation operation;
    operation.memory = {made.memory.data(), bytes, {}};
    operation.never_immediate = made.never_immediate;
    operation.tag.handle = &made;
    ScheduleRunner::post(end, is_send ? Direction::kSend : Direction::kReceive, operation);
  }

  void cancel_send(MessageEnd& end, unsigned number) {
    if (end.sends.empty()) return;
    Posted& chosen = end.sends[number % end.sends.size()];
    const bool was_open = !chosen.ended;
    chosen.cancel_asked = true;
    const Cancelled cancelled =
        end.connection->cancel(Direction::kSend, {.any_handle = false, .handle = &chosen}, ECANCELED);
    if (cancelled.matched > (was_open ? 1U : 0U)) note("cancelled something else than was named");
    if (cancelled.asked + cancelled.begun > cancelled.matched) note("more begun than matched");
  }

  void check_at_end(MessageEnd& end, MessageEnd& peer) override {
    for (const Posted& receive : end.receives) {
      if (receive.memory != receive.at_outcome) note("memory touched after its outcome");
    }
    check_messages(end, peer);
  }

  // The n-th receive that got a message got the n-th message that was not cancelled: refusals, ends and
  // failures come after all messages.
  void check_messages(const MessageEnd& from, const MessageEnd& to) {
    std::size_t n = 0;
    bool over = false;
    for (const Posted& receive : to.receives) {
      const bool got_message =
          receive.ended && receive.outcome.error == 0 && (receive.outcome.flags & kEndOfStream) == 0;
      if (!got_message) {
        over = true;
        continue;
      }
      if (over) note("message after the end");
      while (n < from.sends.size() && is_passed_over(from.sends[n], n + 1, receive)) ++n;
      if (n == from.sends.size()) return note("message nobody sent");
      check_message(from.sends[n], n + 1, receive);
      ++n;
    }
    for (std::size_t i = n; i < from.sends.size(); ++i) {
      const Posted& send = from.sends[i];
      const bool was_immediate = (send.outcome.flags & kImmediate) != 0;
      if (send.ended && send.outcome.error == 0 && !was_immediate)
        note("send ended well but was not received");
    }
  }
  static bool is_passed_over(const Posted& send, std::size_t number, const Posted& receive) {
    if (send.is_cancelled()) return true;
    if (!send.may_be_recalled()) return false;
    const std::size_t bytes = std::min(send.length_bytes, receive.length_bytes);
    const Bytes content = pattern(send.length_bytes, static_cast<unsigned>(number));
    return receive.outcome.length_bytes != bytes ||
           !std::equal(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(bytes),
                       receive.at_outcome.begin());
  }
  void check_message(const Posted& send, std::size_t number, const Posted& receive) {
    const std::size_t expected = std::min(send.length_bytes, receive.length_bytes);
    const bool immediate = !send.never_immediate && send.length_bytes <= shape_.small_bytes;
    if (receive.outcome.length_bytes != expected) note("wrong length received");
    std::uint32_t flags = kEndOfMessage;
    if (expected < send.length_bytes) flags |= kTruncated;
    if (immediate) flags |= kImmediate;
    if (immediate && expected > 0) flags |= kCopied;
    if (receive.outcome.flags != flags) note("wrong flags");
    Bytes should_be = pattern(send.length_bytes, static_cast<unsigned>(number));
    should_be.resize(expected);
    should_be.resize(receive.length_bytes, kGuard);
    if (receive.at_outcome != should_be) note("wrong bytes");
    if (!send.ended || send.outcome.error != 0) return;
    if (send.outcome.length_bytes != (immediate ? send.length_bytes : expected))
      note("sender told a wrong length");
  }
};

}  // namespace exs::proto
