// The choice of a slot, against slots that an owner really writes.
// SPDX-License-Identifier: BSD-2-Clause
#include "exs/cpp/slot_choice.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

#include "exs/exs.h"
#include "tests/support/property.h"

namespace exs::test {
using cpp::detail::begun_updates;
using cpp::detail::choose_slot;
namespace slot_choice_test {

// An owner that stores the number of each update into its slot.
class Owner {
 public:
  explicit Owner(unsigned slot_count)
      : memory_(exs_slots_bytes(slot_count, sizeof(std::uint64_t)) / sizeof(exs_slots_t)) {
    exs_slots_init(slots(), slot_count, sizeof(std::uint64_t));
  }
  exs_slots_t* slots() { return memory_.data(); }
  std::uint64_t begin() {
    auto* const slot = static_cast<std::uint64_t*>(exs_slots_begin(slots()));
    const std::uint64_t before = *slot;
    *slot = 0;  // half written
    open_ = slot;
    return before;
  }
  void end() {
    *open_ = sequence() / 2 + 1;
    exs_slots_end(slots());
  }
  [[nodiscard]] std::uint64_t sequence() const { return memory_.front().window.sequence; }
  [[nodiscard]] std::uint64_t content(std::uint64_t update) {
    return *static_cast<const std::uint64_t*>(exs_slots_at(slots(), update));
  }

 private:
  std::vector<exs_slots_t> memory_;
  std::uint64_t* open_ = nullptr;
};

// Some updates, the last of which may be under way.
void update_some(Owner& owner, unsigned most) {
  const auto updates = draw<unsigned>(1, most);
  for (unsigned i = 0; i < updates; ++i) owner.begin(), owner.end();
  if (draw_bool()) owner.begin();
}

// `count` more updates begin.
void begin_more(Owner& owner, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (owner.sequence() % 2 != 0) owner.end();
    owner.begin();
  }
}

}  // namespace slot_choice_test

BOOST_FIXTURE_TEST_SUITE(slot_choice_test, PropertyDefaults)

BOOST_AUTO_TEST_CASE(nothing_is_there_before_the_first_update_is_complete) {
  BOOST_TEST(!choose_slot(0, 4, 0).has_value());
  BOOST_TEST(!choose_slot(1, 4, 0).has_value());
  BOOST_TEST(choose_slot(2, 4, 0)->update == 1U);
}

BOOST_AUTO_TEST_CASE(who_needs_no_time_gets_the_newest) {
  BOOST_TEST(holds("newest", [] {
    Owner owner(draw<unsigned>(2, 9));
    update_some(owner, 1000);
    EXS_HOLD(choose_slot(owner.sequence(), owner.slots()->slot_count, 0)->update == owner.sequence() / 2);
  }));
}

// The slot holds what the choice says until exactly the update that the choice names begins.
BOOST_AUTO_TEST_CASE(a_slot_stays_as_long_as_it_is_said_to) {
  BOOST_TEST(holds("stays", [] {
    Owner owner(draw<unsigned>(2, 9));
    update_some(owner, 1000);
    const auto choice = choose_slot(owner.sequence(), owner.slots()->slot_count, draw<unsigned>(0, 400));
    const std::uint64_t begun = begun_updates(owner.sequence());
    EXS_HOLD(choice->overwritten_by > begun);
    begin_more(owner, choice->overwritten_by - 1 - begun);
    EXS_HOLD(owner.content(choice->update) == choice->update);
    if (owner.sequence() % 2 != 0) owner.end();
    EXS_HOLD(owner.begin() == choice->update);
  }));
}

// The promise of exs_recv_snapshot(3).
BOOST_AUTO_TEST_CASE(a_read_within_a_quarter_of_the_longest_period_finds_a_slot_that_outlasts_it) {
  BOOST_TEST(holds("outlasts", [] {
    const auto slot_count = draw<unsigned>(2, 11);
    const unsigned periods = 1U << (slot_count - 1);
    Owner owner(slot_count);
    for (unsigned i = 0; i < periods; ++i) owner.begin(), owner.end();
    update_some(owner, 4 * periods);
    const auto updates = draw<unsigned>(0, periods / 2);
    const std::uint64_t newest = owner.sequence() / 2;
    const auto choice = choose_slot(owner.sequence(), slot_count, updates);
    begin_more(owner, updates);
    EXS_HOLD(owner.content(choice->update) == choice->update);
    EXS_HOLD(newest - choice->update <= 4 * updates + 2);
  }));
}

// What a peer may send.
BOOST_AUTO_TEST_CASE(any_counter_will_do) {
  for (std::uint64_t slot_count = 2; slot_count <= EXS_SLOTS_MAX; ++slot_count) {
    for (const std::uint64_t sequence : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2}) {
      const auto choice = choose_slot(sequence, slot_count, UINT64_MAX);
      BOOST_REQUIRE(choice.has_value());
      BOOST_TEST(choice->update <= sequence / 2);
      BOOST_TEST(choice->overwritten_by > sequence / 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_bytes_of_slots) {
  BOOST_TEST(exs_slots_bytes(2, 1) == 3U * 64);
  BOOST_TEST(exs_slots_bytes(2, 64) == 3U * 64);
  BOOST_TEST(exs_slots_bytes(3, 65) == 7U * 64);
  BOOST_TEST(exs_slots_bytes(EXS_SLOTS_MAX, 4096) == 64U + EXS_SLOTS_MAX * 4096U);
  for (const unsigned slot_count : {0U, 1U, EXS_SLOTS_MAX + 1U})
    BOOST_TEST(exs_slots_bytes(slot_count, 64) == 0U);
  BOOST_TEST(exs_slots_bytes(2, SIZE_MAX) == 0U);
  BOOST_TEST(exs_slots_bytes(2, SIZE_MAX / 33) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
