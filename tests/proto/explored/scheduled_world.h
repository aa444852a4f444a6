// Two connections, each with a plan of what is done to it, as a world that an explorer can run on from every moment: the steps of
// the plans, what the links do, completions, and breaks of the links, in every order.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/proto/schedule_runner.h"
#include "tests/support/explorer.h"

namespace exs::proto {

// What must hold when everything has come to rest.
enum class Expected : std::uint8_t {
  kEnd,       // each operation ends once both ends are closed
  kOrderly,   // and no link was broken, so both ends close in order and no window stays open
  kComplete,  // and before that all transfers are over
};

struct Plan {
  Shape shape;
  std::array<std::vector<Step>, 2> steps;  // in their order at each end
  Expected expected = Expected::kOrderly;
  bool may_break = false;  // each end's link, at any time
  // What is sent has left at once. Fewer ways, for longer plans: an end that has sent something learns that before all else.
  bool leaves_at_once = false;
};

inline constexpr std::size_t kMomentsMax = 3'000'000;

inline constexpr std::array kLinkSteps = {"takes a completion", "gets a message", "has sent",
                                          "begins a read",      "has read",       "sees the end"};

// What an earlier message left in a slot makes no difference.
inline void scribble_slots(test::FakeLink& link) {
  link.use_posted_memory(
      [](std::span<std::byte> memory) { std::memset(memory.data(), 0xdb, memory.size()); });
}
// At the start, when all slots are posted.
inline std::span<std::byte> mapped_slots_of(test::FakeLink& link) {
  std::byte* first = nullptr;
  std::byte* end = nullptr;
  link.use_posted_memory([&](std::span<std::byte> memory) {
    if (test::SnapshotHeaps::holds(memory.data())) return;
    if (first == nullptr || memory.data() < first) first = memory.data();
    end = std::max(end, memory.data() + memory.size());
  });
  return {first, end};
}

template <typename AnySchedule>
class ScheduledWorld {
 public:
  // `plan` outlives it.
  explicit ScheduledWorld(const Plan& plan) : plan_(plan), schedule_(plan.shape) {
    if (!schedule_.start()) failed_ = true;
    scribble();
  }

  [[nodiscard]] static unsigned choices() { return kBreaks + 2; }
  bool happens(unsigned choice) {
    const unsigned end = choice % 2;
    const test::InPlace at(place_of(end));
    bool has_happened = false;
    if (choice < kPlans) {
      has_happened = schedule_.happens(choice);
    } else if (choice < kBreaks) {
      has_happened = next_[end] < plan_.steps[end].size();
      const test::InUser user;
      if (has_happened) schedule_.carry_out(plan_.steps[end][next_[end]++]);
    } else {
      has_happened = plan_.may_break && schedule_.end(end).link->is_open();
      if (has_happened) schedule_.end(end).link->break_off(Status(ECONNRESET));
    }
    if (!has_happened) return false;
    if (plan_.leaves_at_once) {
      for (unsigned i = 0; i < 2; ++i)
        while (schedule_.end(i).link->finish_send()) continue;
    }
    scribble();
    return true;
  }
  [[nodiscard]] const char* wrong() const {
    if (failed_) return "the start failed";
    const std::string* const wrong = schedule_.first_wrong();
    return wrong == nullptr ? nullptr : wrong->c_str();
  }
  void end() {
    const test::InPlace whole(test::Place::kWhole);
    if constexpr (requires { schedule_.complete_transfers(); }) {
      if (plan_.expected == Expected::kComplete) {
        schedule_.complete_transfers();
        if (!schedule_.wrong_if_undisturbed().empty()) return;
      }
    }
    schedule_.finish();
    if (!schedule_.wrong_at_end().empty() || plan_.expected == Expected::kEnd || plan_.may_break) return;
    for (unsigned i = 0; i < 2; ++i) {
      if (schedule_.end(i).closed_count != 1) schedule_.end(i).wrong("no orderly end");
      if (schedule_.end(i).link->windows() != 0) schedule_.end(i).wrong("a window stays open");
    }
  }
  void add_to(test::Fingerprint& moment) {
    using test::Place;
    for (const Place place :
         {Place::kFirst, Place::kSecond, Place::kFirstUser, Place::kSecondUser, Place::kWhole})
      test::SnapshotHeaps::add_to(moment, place);
    for (unsigned i = 0; i < 2; ++i) schedule_.end(i).link->add_to(moment);
    for (const auto bytes : elsewhere()) moment.add(bytes);
  }
  // Called at the start first.
  [[nodiscard]] const std::vector<std::span<std::byte>>& elsewhere() {
    if (mapped_.empty()) {
      for (unsigned i = 0; i < 2; ++i) mapped_.push_back(mapped_slots_of(*schedule_.end(i).link));
    }
    return mapped_;
  }
  [[nodiscard]] std::string name(unsigned choice) const {
    const std::string end = choice % 2 == 0 ? "initiator " : "responder ";
    if (choice < kPlans) return end + kLinkSteps.at(choice / 2);
    return end + (choice < kBreaks ? "goes on with its plan" : "loses its link");
  }

 private:
  static constexpr unsigned kPlans = AnySchedule::kStepKinds, kBreaks = kPlans + 2;

  static test::Place place_of(unsigned end) { return end == 0 ? test::Place::kFirst : test::Place::kSecond; }
  void scribble() {
    for (unsigned i = 0; i < 2; ++i) scribble_slots(*schedule_.end(i).link);
  }

  const Plan& plan_;
  AnySchedule schedule_;
  std::array<std::size_t, 2> next_{};
  std::vector<std::span<std::byte>> mapped_;
  bool failed_ = false;
};

inline void expect_all_well(const char* name, const test::Explored& found) {
  BOOST_TEST_MESSAGE(name << ": " << found.moments << " moments, " << found.steps << " steps, " << found.ends
                          << " ends, at most " << found.deepest << " steps long");
  BOOST_TEST_INFO(name);
  BOOST_TEST(found.wrong == "");
  BOOST_TEST(found.ends > 0U);
}

template <typename AnySchedule>
void explore(const char* name, const Plan& plan) {
  using World = ScheduledWorld<AnySchedule>;
  expect_all_well(name, test::Explorer<World>::run([&] { return new World(plan); }, kMomentsMax));
}

}  // namespace exs::proto
