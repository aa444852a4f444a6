// Receives and messages that wait, against plain lists that are looked through: any order of posting, arriving and cancelling, with more
// kinds of wildcards than there are tables.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "src/match/key_table.h"
#include "src/match/waiting_messages.h"
#include "src/match/waiting_receives.h"
#include "tests/support/property.h"

namespace exs::match {
namespace match_test {

using test::Row;

constexpr std::uint64_t kSeed = 0x5eed;
constexpr unsigned kPicks = 1000;

// A step of a play, in a small world, so that much fits and much does not.
enum Column : std::size_t { kChance, kSource, kBits, kIgnore, kPick };
std::vector<Row> draw_play() {
  return test::draw_rows({{"chance", {{1, 0, 100}}},
                          {"source", {{1, 0, 5}}},  // the last: any
                          {"bits", {{1, 0, 8}}},
                          {"ignore", {{3, 0, 1}, {1, 0, 8}}},
                          {"pick", {{1, 0, kPicks}}}},
                         4);
}
Envelope envelope_of(const Row& row) {
  return {row[kSource] % 4, row[kBits]};
}
Criteria criteria_of(const Row& row) {
  return {row[kSource] == 4 ? kAnySource : row[kSource], row[kBits], row[kIgnore]};
}

// How eager a play is to add, in each quarter: so it comes across every length, and back to none.
struct Moods {
  std::array<unsigned, 4> adding{test::draw(20U, 90U), test::draw(10U, 60U), test::draw(20U, 90U),
                                 test::draw(0U, 40U)};
  [[nodiscard]] bool adds(const std::vector<Row>& play, std::size_t step) const {
    return play[step][kChance] < adding[step * adding.size() / play.size()];
  }
};

template <typename Known>
struct Waiting {
  Known known;
  std::uint32_t number = 0;
  int* user = nullptr;
};
template <typename Known>
typename std::vector<Waiting<Known>>::iterator pick(std::vector<Waiting<Known>>& from, const Row& row) {
  return from.begin() + static_cast<std::ptrdiff_t>(row[kPick] % from.size());
}

struct Fixture : test::PropertyDefaults {};

}  // namespace match_test

BOOST_FIXTURE_TEST_SUITE(match_test, Fixture)

BOOST_AUTO_TEST_CASE(a_message_gets_the_oldest_receive_that_takes_it) {
  BOOST_TEST(test::holds("waiting receives", [] {
    const Moods moods;
    const std::vector<Row> play = draw_play();
    std::vector<int> users(play.size());
    WaitingReceives receives(kSeed);
    std::vector<Waiting<Criteria>> plain;
    for (std::size_t step = 0; step < play.size(); ++step) {
      const Row& row = play[step];
      if (moods.adds(play, step)) {
        int* const user = &users[step];
        plain.push_back({criteria_of(row), receives.add(criteria_of(row), user), user});
      } else if (plain.empty() || row[kPick] % 4 != 0) {
        const Envelope envelope = envelope_of(row);
        const auto oldest = std::find_if(plain.begin(), plain.end(),
                                         [&](const auto& one) { return one.known.fits(envelope); });
        EXS_HOLD(receives.take_matching(envelope) == (oldest == plain.end() ? nullptr : oldest->user));
        if (oldest != plain.end()) plain.erase(oldest);
      } else {
        const auto cancelled = pick(plain, row);
        EXS_HOLD(receives.remove(cancelled->number) == cancelled->user);
        plain.erase(cancelled);
      }
      EXS_HOLD(receives.size() == plain.size());
    }
  }));
}

BOOST_AUTO_TEST_CASE(a_receive_gets_the_oldest_message_that_fits) {
  BOOST_TEST(test::holds("waiting messages", [] {
    const Moods moods;
    const std::vector<Row> play = draw_play();
    std::vector<int> users(play.size());
    WaitingMessages messages(kSeed);
    std::vector<Waiting<Envelope>> plain;
    for (std::size_t step = 0; step < play.size(); ++step) {
      const Row& row = play[step];
      if (moods.adds(play, step)) {
        int* const user = &users[step];
        plain.push_back({envelope_of(row), messages.add(envelope_of(row), user), user});
      } else if (plain.empty() || row[kPick] % 4 != 0) {
        const Criteria criteria = criteria_of(row);
        const auto oldest = std::find_if(plain.begin(), plain.end(),
                                         [&](const auto& one) { return criteria.fits(one.known); });
        const std::uint32_t found = messages.find(criteria);
        EXS_HOLD((found == kNone) == (oldest == plain.end()));
        if (found == kNone) continue;
        EXS_HOLD(messages.user(found) == oldest->user);
        if (row[kPick] % 4 == 1) continue;  // a probe
        EXS_HOLD(messages.remove(found) == oldest->user);
        plain.erase(oldest);
      } else {
        const auto gone = pick(plain, row);
        EXS_HOLD(messages.remove(gone->number) == gone->user);
        plain.erase(gone);
      }
      EXS_HOLD(messages.size() == plain.size());
    }
  }));
}

BOOST_AUTO_TEST_CASE(a_table_has_the_oldest_entry_of_each_key) {
  BOOST_TEST(test::holds("key table", [] {
    KeyTable table(test::draw<std::uint64_t>());
    Links links;
    std::map<std::uint64_t, std::deque<std::uint32_t>> plain;
    const std::uint64_t keys = test::draw_bool() ? 5 : 400;
    const auto key_of = [](std::uint64_t bits) { return Key{static_cast<std::uint32_t>(bits % 3), bits}; };
    for (const Row& row : draw_play()) {
      const std::uint64_t bits = row[kPick] % keys;
      auto& its = plain[bits];
      if (row[kChance] < 60) {
        const auto entry = static_cast<std::uint32_t>(links.size());
        links.emplace_back();
        table.reserve(1);
        table.append(key_of(bits), links, entry);
        its.push_back(entry);
      } else if (!its.empty()) {
        const auto gone = its.begin() + static_cast<std::ptrdiff_t>(row[kChance] % its.size());
        table.remove(key_of(bits), links, *gone);
        its.erase(gone);
      }
      for (const auto& [other, entries] : plain)
        EXS_HOLD(table.first(key_of(other)) == (entries.empty() ? kNone : entries.front()));
    }
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::match
