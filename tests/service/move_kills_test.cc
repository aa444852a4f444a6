// A service that moves between two processes while it is asked, and either is killed at any moment of a move.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "tests/service/asker.h"
#include "tests/service/mover.h"

namespace exs::svc {
namespace move_kills_test {

using namespace exs::svc::test;

const std::string kMove = "m";

// A process that has the service or waits for it, and what it has said of that.
class Home {
 public:
  Home(const char* program, const std::string& key_path, const char* role)
      : victim_(program, key_path, role) {}
  void read(std::vector<Entry>& executed) {
    std::vector<Number> numbers;
    victim_.read_into(numbers);
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      const Entry entry{numbers[i], numbers[i + 1]};
      if (entry.number < kFirstHappened) {
        executed.push_back(entry);
      } else {
        said_.push_back(static_cast<Happened>(entry.number));
      }
    }
  }
  // What has not been heard yet.
  std::optional<Happened> hear() {
    if (said_.empty()) return {};
    const Happened first = said_.front();
    said_.pop_front();
    return first;
  }
  [[nodiscard]] bool has_said(Happened what) const { return std::ranges::find(said_, what) != said_.end(); }
  [[nodiscard]] bool is_dead() const { return victim_.is_dead(); }
  void order(const std::string& orders) const { victim_.order(orders); }
  void kill(std::vector<Entry>& executed) {
    victim_.kill();
    read(executed);
  }

 private:
  Victim victim_;
  std::deque<Happened> said_;
};

struct MovingSurvivor : AskingSurvivor {
  std::vector<Entry> executed;
  std::unique_ptr<Home> owner = home("open");
  std::unique_ptr<Home> adopter = home("adopt");

  MovingSurvivor() {
    turn_until_said(*owner, Happened::kOpened);
    turn_until_said(*adopter, Happened::kWaiting);
  }
  std::unique_ptr<Home> home(const char* role) {
    const char* const mover = std::getenv("EXS_SERVICE_MOVER");
    BOOST_REQUIRE_MESSAGE(mover != nullptr, "EXS_SERVICE_MOVER names the service's program");
    return std::make_unique<Home>(mover, folder.path(), role);
  }
  void turn() {
    ask_what_fits(SIZE_MAX);
    take_events();
    if (owner != nullptr) owner->read(executed);
    if (adopter != nullptr) adopter->read(executed);
  }
  // What a process says, when it does.
  Happened next(Home& of) {
    for (int turns = 0; turns < kTurnsMax; ++turns) {
      if (const std::optional<Happened> what = of.hear()) return *what;
      turn();
      of.read(executed);
    }
    BOOST_REQUIRE_MESSAGE(false, "a hang");
    return {};
  }
  void turn_until_said(Home& of, Happened what) { BOOST_REQUIRE((next(of) == what)); }
  void end() {
    const std::size_t most = all.size();
    for (int turns = 0; ended < most; ++turns) {
      BOOST_REQUIRE(turns < kTurnsMax);
      take_events();
      owner->read(executed);
      adopter->read(executed);
    }
  }
  [[nodiscard]] std::size_t check() const {
    std::vector<Number> numbers;
    for (const Entry& entry : executed) numbers.push_back(entry.number);
    return check_table(numbers);
  }

  // One of the two is dead. What has become of the other, and a new one in place of that.
  void settle_without_heir() {
    const Happened what = next(*owner);
    ++outcomes[what];
    if (what == Happened::kMoved) {  // and it waits for the next
      turn_until_said(*owner, Happened::kWaiting);
      adopter = std::exchange(owner, home("open"));
      return turn_until_said(*owner, Happened::kOpened);
    }
    if (what == Happened::kUnknown) turn_until_said(*owner, Happened::kOpened);
    adopter = home("adopt");
    turn_until_said(*adopter, Happened::kWaiting);
  }
  void settle_without_owner() {
    owner = home("open");
    if (next(*owner) == Happened::kOpened) {
      ++outcomes[Happened::kOpened];
      return;
    }
    // What waited has it.
    ++outcomes[Happened::kAdopted];
    turn_until_said(*adopter, Happened::kAdopted);
    owner = std::exchange(adopter, home("adopt"));
    turn_until_said(*adopter, Happened::kWaiting);
  }
  void kill_and_settle(bool is_heir) {
    (is_heir ? adopter : owner)->kill(executed);
    is_heir ? settle_without_heir() : settle_without_owner();
  }
  void tell_outcomes() const {
    for (const auto& [what, count] : outcomes)
      BOOST_TEST_MESSAGE("outcome " << (static_cast<std::uint32_t>(what) & 0xffU) << ": " << count);
  }
  std::map<Happened, int> outcomes;
};

}  // namespace move_kills_test

BOOST_FIXTURE_TEST_SUITE(move_kills_test, MovingSurvivor)

BOOST_AUTO_TEST_CASE(each_request_is_executed_once_however_often_the_service_moves) {
  const int moves = wanted("--moves", 30);
  for (int i = 0; i < moves; ++i) {
    for (const std::size_t enough = ended + choice() % 100; ended < enough;) turn();
    owner->order(kMove);
    turn_until_said(*owner, Happened::kMoved);
    turn_until_said(*owner, Happened::kWaiting);
    turn_until_said(*adopter, Happened::kAdopted);
    owner.swap(adopter);
  }
  end();
  BOOST_TEST(check() == 0U);
  // Expect: the count goes on from process to process, so nothing was executed twice, and no state was lost.
  std::set<std::uint32_t> counts;
  for (const Entry& entry : executed) counts.insert(entry.value);
  BOOST_TEST(executed.size() == all.size());
  BOOST_TEST(counts.size() == all.size());
  BOOST_TEST((counts.empty() || *counts.rbegin() == all.size()));
}

BOOST_AUTO_TEST_CASE(each_request_ends_once_whoever_is_killed_in_a_move) {
  const int kills = kills_wanted(10);
  for (int i = 0; i < kills; ++i) {
    for (const std::size_t enough = ended + choice() % 50; ended < enough;) turn();
    owner->order(kMove);
    for (auto turns = choice() % 12; turns > 0; --turns) turn();
    kill_and_settle(choice() % 2 == 0);
  }
  end();
  const std::size_t unknown = check();
  BOOST_TEST(unknown <= std::size_t{64} * static_cast<std::size_t>(kills));
  tell_outcomes();
}

BOOST_AUTO_TEST_CASE(each_request_ends_once_after_whichever_turn_of_a_move_one_dies) {
  constexpr std::uint8_t kMost = 200;
  std::size_t kills = 0;
  for (const bool is_heir : {true, false}) {
    // Expect: a move ends, so there is a last turn.
    bool has_moved = false;
    for (std::uint8_t turns = 1; !has_moved; ++turns, ++kills) {
      BOOST_REQUIRE(turns < kMost);
      for (const std::size_t enough = ended + choice() % 50; ended < enough;) turn();
      const Home& victim = is_heir ? *adopter : *owner;
      const std::string death = {'d', static_cast<char>(turns)};
      if (is_heir) adopter->order(death);
      owner->order(is_heir ? kMove : death + kMove);
      for (int waits = 0; !has_moved && !victim.is_dead(); ++waits) {
        BOOST_REQUIRE(waits < kTurnsMax);
        turn();
        has_moved = owner->has_said(Happened::kMoved) && adopter->has_said(Happened::kAdopted);
      }
      kill_and_settle(is_heir);
    }
    BOOST_TEST_MESSAGE("turns of a move: " << kills);
  }
  end();
  BOOST_TEST(check() <= 64 * kills);
  // Expect: some died too early for the move, and some too late to be missed.
  for (const Happened what : {Happened::kStayed, Happened::kMoved, Happened::kOpened, Happened::kAdopted})
    BOOST_TEST(outcomes[what] > 0);
  tell_outcomes();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
