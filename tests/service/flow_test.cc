// The messages of a flow, over a way that breaks at any moment to a service that starts again at any moment: what the sender is told is
// what happened.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <set>
#include <vector>

#include "service/flow/incoming.h"
#include "service/flow/outgoing.h"
#include "tests/support/property.h"

namespace exs::svc {
namespace flow_test {

using exs::test::Row;

// That is here at once, or later.
struct Piece {
  std::uint32_t what = 0;
  bool is_here = true;
  [[nodiscard]] bool is_whole() const { return is_here; }
};
using Turns = Incoming<Piece>;

// Both ends and the way between them. A message is the number of its add().
class World {
  auto freeing() {
    return [this](Outgoing::Slot slot, Fate fate) {
      EXS_HOLD(held_.erase(slot) == 1);
      if (fate != Fate::kTaken) ++unknown_;
    };
  }

 public:
  void add() {
    if (outgoing_.is_full()) return;
    outgoing_.add(added_++);
    held_.insert(static_cast<Outgoing::Slot>(added_ - 1));
  }
  void open() {
    if (is_open_) return;
    const auto opening = outgoing_.open(instance_, incoming_.accepted(), is_known_, freeing());
    EXS_HOLD(opening != Outgoing::Opening::kProtocolError);
    is_known_ = true;
    is_open_ = true;
  }
  void send() {
    if (const auto next = outgoing_.next()) {
      EXS_HOLD(is_open_);
      under_way_.push_back({next->slot, next->number});
      outgoing_.left();
    }
  }
  void arrive() {
    if (under_way_.empty()) return;
    const Outgoing::Next frame = under_way_.front();
    under_way_.pop_front();
    switch (incoming_.turn_of(frame.number)) {
      case Turns::MessageTurn::kNext: incoming_.take([&] { delivered_.push_back(frame.slot); }); break;
      case Turns::MessageTurn::kTakenBefore: break;
      case Turns::MessageTurn::kOutOfTurn: EXS_HOLD(!"a message was left out");
    }
    acks_.push_back(incoming_.accepted());
  }
  void acknowledge() {
    if (acks_.empty()) return;
    EXS_HOLD(outgoing_.accept(acks_.front(), freeing()));
    acks_.pop_front();
  }
  void break_way() {
    outgoing_.close();
    under_way_.clear();
    acks_.clear();
    is_open_ = false;
  }
  void restart() {
    break_way();
    incoming_ = Turns();
    is_known_ = false;
    ++instance_;
    ++restarts_;
  }
  void give_up() {
    if (is_open_) return;
    outgoing_.give_up(freeing());
  }
  void drain() {
    while (!outgoing_.is_empty()) {
      open();
      send();
      arrive();
      acknowledge();
    }
  }
  void check() const {
    EXS_HOLD(held_.empty());
    std::set<Outgoing::Slot> once(delivered_.begin(), delivered_.end());
    EXS_HOLD(once.size() == delivered_.size());
    EXS_HOLD(std::is_sorted(delivered_.begin(), delivered_.end()));
    EXS_HOLD(added_ - delivered_.size() <= unknown_);
    if (unknown_ == 0) EXS_HOLD(delivered_.size() == added_);
  }
  [[nodiscard]] std::size_t unknown() const { return unknown_; }

 private:
  Outgoing outgoing_;
  Turns incoming_;
  std::uint64_t instance_ = 1;
  bool is_known_ = false;
  bool is_open_ = false;
  std::deque<Outgoing::Next> under_way_;
  std::deque<std::uint64_t> acks_;
  Outgoing::Slot added_ = 0;
  std::set<Outgoing::Slot> held_;
  std::vector<Outgoing::Slot> delivered_;
  std::size_t unknown_ = 0;
  std::size_t restarts_ = 0;
};

enum Step : unsigned { kAdd, kOpen, kSend, kArrive, kAcknowledge, kBreak, kRestart, kGiveUp, kSteps };

std::vector<Row> draw_flow_play(double restarts, double give_ups) {
  return exs::test::draw_rows({{"step",
                                {{8, kAdd, kAdd + 1, "add"},
                                 {3, kOpen, kOpen + 1, "open"},
                                 {8, kSend, kSend + 1, "send"},
                                 {6, kArrive, kArrive + 1, "arrive"},
                                 {4, kAcknowledge, kAcknowledge + 1, "acknowledge"},
                                 {1, kBreak, kBreak + 1, "break"},
                                 {restarts, kRestart, kRestart + 1, "restart"},
                                 {give_ups, kGiveUp, kGiveUp + 1, "give up"}}}},
                              10);
}

void play(World& world, const std::vector<Row>& steps) {
  for (const Row& row : steps) {
    switch (row[0]) {
      case kAdd: world.add(); break;
      case kOpen: world.open(); break;
      case kSend: world.send(); break;
      case kArrive: world.arrive(); break;
      case kAcknowledge: world.acknowledge(); break;
      case kBreak: world.break_way(); break;
      case kRestart: world.restart(); break;
      default: world.give_up(); break;
    }
  }
  world.drain();
  world.check();
}

struct Slots {
  std::vector<Outgoing::Slot> freed;
  std::size_t unknown = 0;
  auto operator()() {
    return [this](Outgoing::Slot slot, Fate fate) {
      freed.push_back(slot);
      if (fate == Fate::kUnknown) ++unknown;
    };
  }
};

}  // namespace flow_test

BOOST_FIXTURE_TEST_SUITE(flow_test, exs::test::PropertyDefaults)

BOOST_AUTO_TEST_CASE(a_way_that_breaks_loses_nothing) {
  BOOST_TEST(exs::test::holds("every message arrives once, in order", [] {
    World world;
    play(world, draw_flow_play(0, 0));
    EXS_HOLD(world.unknown() == 0);
  }));
}

BOOST_AUTO_TEST_CASE(a_service_that_starts_again_loses_what_is_told) {
  BOOST_TEST(exs::test::holds("at most once, in order; lost are at most as many as told", [] {
    World world;
    play(world, draw_flow_play(1, 0));
  }));
}

BOOST_AUTO_TEST_CASE(messages_that_are_given_up_are_told) {
  BOOST_TEST(exs::test::holds("at most once, in order; lost are at most as many as told", [] {
    World world;
    play(world, draw_flow_play(0.5, 1));
  }));
}

BOOST_AUTO_TEST_CASE(sixty_four_messages_are_kept) {
  Outgoing outgoing;
  for (Outgoing::Slot slot = 0; slot < Outgoing::kMost; ++slot) {
    BOOST_TEST(!outgoing.is_full());
    outgoing.add(slot);
  }
  BOOST_TEST(outgoing.is_full());
}

using Opening = Outgoing::Opening;

BOOST_AUTO_TEST_CASE(a_service_cannot_take_what_was_not_sent) {
  Outgoing outgoing;
  Slots slots;
  outgoing.add(1);
  outgoing.add(2);
  BOOST_CHECK(outgoing.open(7, 1, false, slots()) == Opening::kProtocolError);
  BOOST_CHECK(outgoing.open(7, 0, false, slots()) == Opening::kSameLife);
  outgoing.left();
  BOOST_TEST(!outgoing.accept(2, slots()));
  BOOST_TEST(slots.freed.empty());
  BOOST_TEST(outgoing.accept(1, slots()));
  BOOST_TEST(slots.freed == std::vector<Outgoing::Slot>{1});
  // Expect: an acknowledgement that is late changes nothing.
  BOOST_TEST(outgoing.accept(0, slots()));
  BOOST_TEST(outgoing.count() == 1U);
}

BOOST_AUTO_TEST_CASE(what_had_not_left_goes_to_the_new_life_of_a_service) {
  Outgoing outgoing;
  Slots slots;
  BOOST_CHECK(outgoing.open(7, 0, false, slots()) == Opening::kSameLife);
  outgoing.add(1);
  outgoing.left();
  outgoing.close();
  outgoing.add(2);
  // Expect: the first is nobody's any more, and the second has the first number there.
  BOOST_CHECK(outgoing.open(8, 0, false, slots()) == Opening::kAnotherLife);
  BOOST_TEST(slots.unknown == 1U);
  BOOST_TEST(slots.freed == std::vector<Outgoing::Slot>{1});
  const auto next = outgoing.next();
  BOOST_REQUIRE(next.has_value());
  BOOST_TEST(next->slot == 2U);
  BOOST_TEST(next->number == 1U);
}

BOOST_AUTO_TEST_CASE(what_a_service_has_forgotten_is_not_sent_again) {
  for (const bool says_so : {true, false}) {
    Outgoing outgoing;
    Slots slots;
    BOOST_CHECK(outgoing.open(7, 0, false, slots()) == Opening::kSameLife);
    for (Outgoing::Slot slot = 1; slot <= 3; ++slot) {
      outgoing.add(slot);
      outgoing.left();
    }
    BOOST_TEST(outgoing.accept(1, slots()));
    outgoing.close();
    // Expect: it may have taken them, as it does not know of the first either.
    outgoing.open(7, 0, !says_so, slots());
    BOOST_TEST(slots.unknown == 2U);
    BOOST_TEST(outgoing.is_empty());
  }
}

BOOST_AUTO_TEST_CASE(what_is_sent_again_comes_before_what_has_not_left) {
  Outgoing outgoing;
  Slots slots;
  outgoing.add(5);
  const std::vector<Outgoing::Slot> again = {3, 4};
  outgoing.add_before(again);
  BOOST_CHECK(outgoing.open(7, 0, false, slots()) == Opening::kSameLife);
  for (Outgoing::Slot slot = 3; slot <= 5; ++slot) {
    const auto next = outgoing.next();
    BOOST_REQUIRE(next.has_value());
    BOOST_TEST(next->slot == slot);
    outgoing.left();
  }
}

BOOST_AUTO_TEST_CASE(what_has_not_left_can_be_taken_back) {
  Outgoing outgoing;
  Slots slots;
  BOOST_CHECK(outgoing.open(7, 0, false, slots()) == Opening::kSameLife);
  for (Outgoing::Slot slot = 1; slot <= 3; ++slot) outgoing.add(slot);
  outgoing.left();
  BOOST_TEST(!outgoing.remove(1));
  BOOST_TEST(outgoing.remove(2));
  BOOST_TEST(!outgoing.remove(2));
  BOOST_TEST(outgoing.next()->slot == 3U);
  outgoing.close();
  // Expect: nor is what has left on a way that is broken.
  BOOST_TEST(!outgoing.remove(1));
  BOOST_TEST(outgoing.remove(3));
}

BOOST_AUTO_TEST_CASE(no_more_than_sixty_four_are_on_the_way) {
  Outgoing outgoing;
  Slots slots;
  std::vector<Outgoing::Slot> again;
  for (Outgoing::Slot slot = 0; slot < Outgoing::kMost; ++slot) outgoing.add(100 + slot);
  for (Outgoing::Slot slot = 0; slot < Outgoing::kMost; ++slot) again.push_back(slot);
  outgoing.add_before(again);
  BOOST_CHECK(outgoing.open(7, 0, false, slots()) == Opening::kSameLife);
  for (std::size_t i = 0; i < Outgoing::kMost; ++i) {
    BOOST_REQUIRE(outgoing.next().has_value());
    outgoing.left();
  }
  BOOST_TEST(!outgoing.next().has_value());
  BOOST_TEST(outgoing.accept(1, slots()));
  BOOST_TEST(outgoing.next()->slot == 100U);
}

BOOST_AUTO_TEST_CASE(what_its_taker_has_no_memory_for_is_not_accepted) {
  Turns turns;
  bool has_memory = false;
  const auto take = [&](const Piece& /*piece*/) {
    if (!has_memory) throw std::bad_alloc();
  };
  BOOST_CHECK_THROW(turns.take([&] { take({}); }), std::bad_alloc);
  BOOST_TEST(turns.accepted() == 0U);
  BOOST_TEST(turns.wait({1, true}) == 1U);
  BOOST_CHECK_THROW(turns.take_whole_ones(take), std::bad_alloc);
  BOOST_TEST(turns.accepted() == 0U);
  BOOST_TEST(turns.waiting(1).what == 1U);
  has_memory = true;
  turns.take_whole_ones(take);
  BOOST_TEST(turns.accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_not_all_here_holds_up_what_comes_behind_it) {
  Turns turns;
  std::vector<std::uint32_t> taken;
  const auto take = [&](const Piece& piece) { taken.push_back(piece.what); };
  turns.take([] {});
  BOOST_TEST(turns.wait({1, false}) == 2U);
  BOOST_TEST(turns.wait({2, true}) == 3U);
  BOOST_TEST(turns.wait({3, false}) == 4U);
  turns.take_whole_ones(take);
  BOOST_TEST(taken.empty());
  BOOST_TEST(turns.accepted() == 1U);
  turns.waiting(2).is_here = true;
  turns.take_whole_ones(take);
  BOOST_TEST((taken == std::vector<std::uint32_t>{1, 2}));
  BOOST_TEST(turns.accepted() == 3U);
  BOOST_CHECK(turns.turn_of(3) == Turns::MessageTurn::kTakenBefore);
  BOOST_CHECK(turns.turn_of(4) == Turns::MessageTurn::kOutOfTurn);
  BOOST_CHECK(turns.turn_of(5) == Turns::MessageTurn::kNext);
  // Expect: the way breaks, and the fourth comes again.
  turns.forget_waiting();
  BOOST_CHECK(turns.turn_of(4) == Turns::MessageTurn::kNext);
}

BOOST_AUTO_TEST_CASE(no_more_than_sixty_four_wait) {
  Turns turns;
  for (std::uint64_t number = 1; number <= Outgoing::kMost; ++number) {
    BOOST_CHECK(turns.turn_of(number) == Turns::MessageTurn::kNext);
    turns.wait({0, false});
  }
  BOOST_CHECK(turns.turn_of(Outgoing::kMost + 1) == Turns::MessageTurn::kOutOfTurn);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
