// Long copies from and to any place of a page.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/long_copy.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/guarded_copy.h"

namespace exs {
namespace long_copy_test {

constexpr std::size_t kPage = 4096;

// Memory that begins so many bytes into a page.
class Placed {
 public:
  Placed(std::size_t at, std::size_t bytes) : memory_(bytes + 2 * kPage), at_(at) {}
  [[nodiscard]] std::byte* begin() {
    const auto place = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (kPage - place % kPage) % kPage + at_;
  }
  // All of it, with what lies beside the copy.
  [[nodiscard]] std::vector<std::byte>& whole() { return memory_; }

 private:
  std::vector<std::byte> memory_;
  const std::size_t at_;
};

template <typename Copy>
void expect_copies(Copy&& copy) {
  for (const std::size_t further : {0, 1, 16, 31, 32, 63, 64, 65, 2048, 4095}) {
    for (const std::size_t bytes : {2047, 2048, 2049, 4096, 10'001, 65'536}) {
      Placed from(100, bytes);
      Placed to((100 + further) % kPage, bytes);
      for (std::size_t i = 0; i < bytes; ++i) from.begin()[i] = static_cast<std::byte>(i * 7 + i / 251 + 1);
      std::vector<std::byte> wanted = to.whole();
      std::copy_n(from.begin(), bytes, wanted.begin() + (to.begin() - to.whole().data()));
      copy(to.begin(), from.begin(), bytes);
      BOOST_TEST(to.whole() == wanted, bytes << " bytes, " << further << " further");
    }
  }
}

}  // namespace long_copy_test

BOOST_AUTO_TEST_SUITE(long_copy_test)

BOOST_AUTO_TEST_CASE(copies_all_and_nothing_beside_it) {
  long_copy_test::expect_copies(
      [](void* to, const void* from, std::size_t bytes) { long_copy(to, from, bytes); });
}

// With a watch it uses what the processor has.
BOOST_AUTO_TEST_CASE(a_guarded_copy_does_so_too) {
  const FaultWatch watch;
  long_copy_test::expect_copies(
      [](void* to, const void* from, std::size_t bytes) { BOOST_REQUIRE(guarded_copy(to, from, bytes)); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs
