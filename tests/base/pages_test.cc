// Pages: zero, resident only where touched, and gone with their owner.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

using exs::Pages;
using exs::Result;

namespace pages_test {

const auto kPageBytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// Pages in memory; -1: nothing is mapped there.
long resident(void* start, std::size_t pages) {
  std::vector<unsigned char> states(pages);
  if (::mincore(start, pages * kPageBytes, states.data()) != 0) return -1;
  return std::count_if(states.begin(), states.end(), [](unsigned char state) { return (state & 1) != 0; });
}

}  // namespace pages_test

BOOST_AUTO_TEST_SUITE(pages_test)

BOOST_AUTO_TEST_CASE(only_what_is_touched_is_resident) {
  constexpr std::size_t kPages = 2048;  // a huge page and more would fit
  Result<Pages> pages = Pages::map(kPages * kPageBytes - 1);
  BOOST_REQUIRE(pages.has_value());
  std::byte* const start = pages->start();
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(start) % kPageBytes == 0U);
  BOOST_TEST(resident(start, kPages) == 0);
  start[5 * kPageBytes + 7] = std::byte{1};
  start[kPages * kPageBytes - 2] = std::byte{1};
  BOOST_TEST(resident(start, kPages) == 2);
  BOOST_TEST(std::all_of(start, start + 5 * kPageBytes, [](std::byte byte) { return byte == std::byte{0}; }));
}

BOOST_AUTO_TEST_CASE(they_go_with_their_last_owner) {
  std::byte* start = nullptr;
  {
    Pages owner;
    BOOST_TEST(owner.start() == nullptr);
    {
      Pages first = *Pages::map(kPageBytes);
      start = first.start();
      start[0] = std::byte{9};
      owner = std::move(first);
      BOOST_TEST(first.start() == nullptr);  // NOLINT(bugprone-use-after-move)
    }
    BOOST_TEST((owner.start() == start && start[0] == std::byte{9}));
    BOOST_TEST(resident(start, 1) == 1);
    Pages other = *Pages::map(kPageBytes);
    std::byte* const kept = other.start();
    owner = std::move(other);
    BOOST_TEST(resident(start, 1) == -1);
    BOOST_TEST(owner.start() == kept);
    start = kept;
  }
  BOOST_TEST(resident(start, 1) == -1);
}

BOOST_AUTO_TEST_CASE(too_much_is_refused) {
  const Result<Pages> pages = Pages::map(std::size_t{1} << 62);
  BOOST_REQUIRE(!pages.has_value());
  BOOST_TEST(pages.error().error() == ENOMEM);
}

BOOST_AUTO_TEST_SUITE_END()
