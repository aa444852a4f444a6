// Runs a list of decisions (post this, end that, let the link do one thing) on two connections and checks after
// each what must always hold, and at the end what must have come of every operation.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
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
};

struct Decision {
  enum Kind {
    kStep,
    kSend,
    kNormalSend,
    kReceive,
    kShutdownSending,
    kShutdownReceiving,
    kClose,
    kAbort,
    kBreak,
    kStarve,  // the end takes in no completions for a while; the link goes on
  };
  Kind kind = kStep;
  unsigned end = 0;  // 0 initiator, 1 responder
  // kStep: which of the things that can happen; posts: bytes; kBreak: 0 orderly, else broken; kStarve: steps
  unsigned number = 0;
};

// An operation of the test, and what came of it.
struct Posted {
  Bytes memory;
  std::size_t length_bytes = 0;
  bool never_immediate = false;
  bool ended = false;
  Outcome outcome;
  Bytes at_outcome;  // receives: the memory as it was handed back
};

// What memory holds where no message was put, or after a send gave it back.
inline constexpr std::byte kGuard{0xee};

struct ScheduledEnd final : OutcomeSink {
  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    const bool is_send = direction == Direction::kSend;
    std::size_t& next = is_send ? sends_ended : receives_ended;
    std::deque<Posted>& posted = is_send ? sends : receives;
    if (operation.tag.handle != &posted.at(next)) wrong("outcome out of order");
    Posted& ended = posted.at(next++);
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
    if (sends_ended != sends.size() || receives_ended != receives.size())
      wrong("ended before its operations");
  }
  [[nodiscard]] bool is_over() const { return closed_count + failed_count > 0; }
  void wrong(const std::string& what) {
    if (first_wrong->empty()) *first_wrong = what;
  }

  std::string* first_wrong = nullptr;
  std::unique_ptr<FakeLink> link;
  std::unique_ptr<Connection> connection;
  std::deque<Posted> sends, receives;
  std::size_t sends_ended = 0, receives_ended = 0;
  unsigned starved_steps = 0;
  int stopped_count = 0, closed_count = 0, failed_count = 0;
};

class Schedule {
 public:
  explicit Schedule(const Shape& shape) : shape_(shape) {
    Agreement agreement = agreement_of(shape.forth_credits, shape.small_bytes, shape.reads);
    agreement.receive_credits = shape.back_credits;
    for (unsigned i = 0; i < 2; ++i) {
      const Agreement ours = i == 0 ? agreement : mirrored(agreement);
      ends_[i].first_wrong = &wrong_;
      ends_[i].link = std::make_unique<FakeLink>(violations_, link_depths(ours));
      ends_[i].connection =
          std::make_unique<Connection>(i == 0 ? Role::kInitiator : Role::kResponder, ours, *ends_[i].link,
                                       ends_[i], Tuning{shape.chunk_bytes, UINT32_MAX - 5});
    }
    FakeLink::join(*ends_[0].link, *ends_[1].link);
  }

  // False: the link refused.
  bool start() { return ends_[1].connection->start().ok() && ends_[0].connection->start().ok(); }

  void carry_out(const Decision& decision) {
    ScheduledEnd& end = ends_[decision.end];
    if (decision.kind == Decision::kStep) {
      step(decision.number);
    } else if (decision.kind == Decision::kStarve) {
      end.starved_steps = decision.number;
    } else if (end.is_over()) {
      return;
    } else if (decision.kind <= Decision::kReceive) {
      post(end, decision.kind, decision.number);
    } else if (decision.kind == Decision::kShutdownSending) {
      end.connection->shutdown_sending();
    } else if (decision.kind == Decision::kShutdownReceiving) {
      end.connection->shutdown_receiving();
    } else if (decision.kind == Decision::kClose) {
      end.connection->close();
    } else if (decision.kind == Decision::kAbort) {
      end.connection->abort(Status(ETIMEDOUT));
    } else {
      break_links(decision.number);
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
  // Both ends close, one early and one late, then everything that can happen.
  void finish() {
    for (ScheduledEnd& end : ends_) {
      if (!end.is_over()) end.connection->close();
      run();
    }
  }
  void run() {
    // Every step uses up something that was posted, so a schedule that does not come to rest is wrong.
    for (ScheduledEnd& end : ends_) end.starved_steps = 0;
    for (int steps = 0; step(static_cast<unsigned>(steps)); ++steps) {
      check();
      if (steps > 100'000) return note("does not come to rest");
    }
  }

  ScheduledEnd& end(unsigned index) { return ends_[index]; }
  // The links break the way a failed call would have them break.
  void break_links(unsigned why) {
    for (ScheduledEnd& end : ends_) end.link->break_off(Status(why == 0 ? 0 : ECONNRESET));
  }

  // The first thing that was wrong; empty: all well.
  [[nodiscard]] std::string wrong_so_far() const {
    if (!wrong_.empty()) return wrong_;
    return violations_.empty() ? "" : "violation: " + violations_.front();
  }
  // After finish().
  [[nodiscard]] std::string wrong_at_end() {
    for (unsigned i = 0; i < 2; ++i) {
      const ScheduledEnd& end = ends_[i];
      if (!end.is_over()) note("neither closed nor failed");
      if (end.sends_ended != end.sends.size() || end.receives_ended != end.receives.size())
        note("operation lost");
      for (const Posted& receive : end.receives) {
        if (receive.memory != receive.at_outcome) note("memory touched after its outcome");
      }
      check_messages(ends_[i], ends_[1 - i]);
    }
    return wrong_so_far();
  }
  // After complete_transfers() of a schedule without shutdown, close or failure.
  [[nodiscard]] std::string wrong_if_undisturbed() {
    for (unsigned i = 0; i < 2; ++i) {
      const ScheduledEnd& end = ends_[i];
      if (end.is_over()) note("connection lost");
      if (end.sends_ended != end.sends.size()) note("send without outcome");
      for (const Posted& send : end.sends) {
        if (send.ended && send.outcome.error != 0) note("send failed");
      }
      if (end.receives_ended < ends_[1 - i].sends.size()) note("message not received");
      check_messages(ends_[i], ends_[1 - i]);
    }
    return wrong_so_far();
  }

 private:
  void note(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  void post(ScheduledEnd& end, Decision::Kind kind, std::size_t bytes) {
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
    if (is_send) {
      end.connection->post_send(operation);
    } else {
      end.connection->post_receive(operation);
    }
  }

  // The first thing that can happen, looking from `number` on.
  bool step(unsigned number) {
    for (unsigned i = 0; i < 12; ++i) {
      if (try_step((number + i) % 12)) return true;
    }
    return false;
  }
  bool try_step(unsigned kind) {
    ScheduledEnd& end = ends_[kind % 2];
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

  void check() {
    if (!ends_[0].link->is_open() || !ends_[1].link->is_open()) return;
    check_credits(ends_[0], ends_[1], shape_.forth_credits);
    check_credits(ends_[1], ends_[0], shape_.back_credits);
  }
  // Credits of the data that go `from` -> `to`: none is lost and none is made.
  void check_credits(const ScheduledEnd& from, const ScheduledEnd& to, std::uint32_t total) {
    std::size_t in_flight = 0;
    for (const Bytes& message : to.link->unpolled()) {
      const auto type = wire::decode(message)->header.type;
      in_flight += type == wire::MessageType::kAdvert || type == wire::MessageType::kImmediate ? 1 : 0;
    }
    for (const Bytes& message : from.link->unpolled()) in_flight += wire::decode(message)->header.credits;
    const std::size_t sum = from.connection->credits().available() + in_flight +
                            to.connection->credits_held() + to.connection->credits().owed();
    if (sum != total) note("credits: " + std::to_string(sum) + " of " + std::to_string(total));
  }

  // The n-th receive that got a message got the n-th message: refusals, ends and failures come after all
  // messages.
  void check_messages(const ScheduledEnd& from, const ScheduledEnd& to) {
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

  const Shape shape_;
  std::string wrong_;
  std::vector<std::string> violations_;
  std::array<ScheduledEnd, 2> ends_;
};

}  // namespace exs::proto
