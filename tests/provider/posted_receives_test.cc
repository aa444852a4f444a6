// The stack of posted receives against a plain one, over any order of posts.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/posted_receives.h"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/property.h"

namespace exs::test {
namespace posted_receives_test {

constexpr std::size_t kSlots = 16;
constexpr std::size_t kSlotBytes = 8;
constexpr std::uint64_t kStep = 256;

// Empty: they are those of the model.
std::string difference(const PostedReceives& receives, const std::vector<std::size_t>& model,
                       const std::byte* memory) {
  if (receives.count() != model.size() || receives.empty() != model.empty()) return "another number";
  std::vector<std::size_t> found;
  bool in_place = true;
  receives.for_each([&](const PostedReceive& receive) {
    const std::size_t slot = receive.token / kStep;
    in_place = in_place && receive.memory.data() == memory + slot * kSlotBytes &&
               receive.memory.size() == kSlotBytes;
    found.push_back(slot);
  });
  if (!in_place) return "memory of another";
  if (found != model) return "another order";
  return model.empty() || receives.last().token / kStep == model.back() ? "" : "another is the last";
}

}  // namespace posted_receives_test

BOOST_AUTO_TEST_SUITE(posted_receives_test)

BOOST_AUTO_TEST_CASE(they_are_those_of_a_plain_stack) {
  const bool held = holds("any sequence of posts and takes", [] {
    std::vector<std::byte> memory(kSlots * kSlotBytes);
    PostedReceives receives;
    std::vector<std::size_t> model;
    for (const int step : draw_ints()) {
      const auto slot = static_cast<std::size_t>(step < 0 ? -(step + 1) : step) % (2 * kSlots);
      if (slot >= kSlots && !model.empty()) {
        receives.pop();
        model.pop_back();
      } else if (slot < kSlots) {
        // Mostly the next one, so that there are runs.
        const std::size_t next = model.empty() || slot < kSlots / 4 ? slot : (model.back() + 1) % kSlots;
        receives.push({{memory.data() + next * kSlotBytes, kSlotBytes}, next * kStep + 3});
        model.push_back(next);
      }
      EXS_HOLD_EMPTY(difference(receives, model, memory.data()));
    }
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
