// A loop with two nodes of services, for the tests of the C++ layer.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exs/service.hpp"
#include "tests/support/exs_fixture.h"

namespace exs::cpp {

inline std::string name_of(const Outcome& outcome) {
  return outcome ? "ok" : exs::test::errno_name(outcome.error.value());
}
inline std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << name_of(outcome);
}

// Looks for services for a minute: on a busy machine, two seconds are no sign of anything.
inline exs_svc_node_options_t patient() {
  exs_svc_node_options_t options{};
  options.find_ns = 60'000'000'000;
  return options;
}
// Gives up at the first look.
inline exs_svc_node_options_t impatient() {
  exs_svc_node_options_t options{};
  options.find_ns = 1;
  return options;
}

struct ServiceWorld {
  Loop loop;
  ServiceKey key;
  ServiceNode left{loop, patient()};
  ServiceNode right{loop, patient()};

  // Turns of the loop until something is so.
  void run_until(const std::function<bool()>& is_so) {
    while (!is_so()) loop.step();
  }
};

// Awaits it, and then destroys it before it resumes, as a coroutine that is destroyed does.
template <typename Awaited>
void await_and_destroy(Awaited awaited) {
  BOOST_REQUIRE(!awaited.await_ready());
  BOOST_REQUIRE(awaited.await_suspend(std::noop_coroutine()));
}

// Resumes in a later turn of the loop.
inline Task<> pause(Loop& loop) {
  co_await loop.sleep_for(Clock::duration::zero());
}

// What became of operations, each of which is to end once.
struct Ends {
  template <typename Awaited>
  Task<> note(Awaited awaited) {
    ++begun;
    const auto outcome = co_await std::move(awaited);
    names.push_back(name_of(outcome));
  }
  [[nodiscard]] bool all_are(const std::string& name) const {
    return names == std::vector<std::string>(begun, name);
  }
  std::size_t begun = 0;
  std::vector<std::string> names;
};

// Bytes that say where they are, so none is taken for another.
inline std::string pattern_of(std::size_t bytes, std::size_t seed) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i * 2654435761U + seed) >> 11);
  return text;
}

}  // namespace exs::cpp
