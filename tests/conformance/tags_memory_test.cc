// Messages with tags of memory that is not there: that operation ends with EFAULT, and the ranks go on. By shm, where the library
// itself copies it.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>
#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_memory_test {

constexpr std::int64_t kWaitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;

struct TwoRanks {
  static constexpr std::size_t kBytes = 4096;
  Job job{2};
  void* const gone = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::vector<std::uint8_t> here = std::vector<std::uint8_t>(kBytes, 7);
  const bool is_guarded = [] {
    const char* const provider = std::getenv("EXS_PROVIDER");
    return provider != nullptr && std::string_view(provider).ends_with("shm");
  }();

  TwoRanks() {
    BOOST_REQUIRE(gone != MAP_FAILED);
    check_that_ranks_go_on();
  }
  ~TwoRanks() { ::munmap(gone, kBytes); }
  TwoRanks(const TwoRanks&) = delete;
  TwoRanks& operator=(const TwoRanks&) = delete;

  int end_of(int rank, exm_request_t request) {
    exm_status_t status{};
    exm_wait(job[rank], &request, &status, kWaitNs);
    return status.error;
  }
  void check_that_ranks_go_on() {
    for (int from = 0; from < 2; ++from) {
      std::uint8_t got = 0;
      BOOST_REQUIRE_EQUAL(exm_send(job[from], here.data(), 1, 1 - from, 9, 0, 0), 0);
      BOOST_REQUIRE_EQUAL(exm_recv(job[1 - from], &got, 1, from, 9, 0, nullptr), 0);
      BOOST_TEST(int{got} == 7);
    }
  }
};

}  // namespace tags_memory_test

BOOST_FIXTURE_TEST_SUITE(tags_memory_test, TwoRanks)

BOOST_AUTO_TEST_CASE(a_send_of_it_ends_alone) {
  if (!is_guarded) return;
  for (const std::size_t bytes : {1, 64, 200, 4000}) {
    BOOST_TEST(exm_send(job[0], gone, bytes, 1, 5, 0, 0) == -1);
    BOOST_TEST(errno == EFAULT);
    BOOST_TEST(exm_send(job[0], gone, bytes, 0, 5, 0, 0) == -1);  // to itself
    BOOST_TEST(errno == EFAULT);
    check_that_ranks_go_on();
  }
}

BOOST_AUTO_TEST_CASE(a_receive_into_it_ends_alone) {
  if (!is_guarded) return;
  for (const bool is_late : {false, true}) {
    for (const std::size_t bytes : {1, 64, 200, 4000}) {
      exm_request_t receive = 0;
      if (!is_late) BOOST_REQUIRE_EQUAL(exm_irecv(job[1], gone, bytes, 0, 5, 0, &receive), 0);
      BOOST_TEST(exm_send(job[0], here.data(), bytes, 1, 5, 0, 0) == 0);
      if (is_late) {
        BOOST_REQUIRE_EQUAL(exm_probe(job[1], 0, 5, 0, nullptr, kWaitNs), 0);
        BOOST_REQUIRE_EQUAL(exm_irecv(job[1], gone, bytes, 0, 5, 0, &receive), 0);
      }
      BOOST_TEST(end_of(1, receive) == EFAULT);
      check_that_ranks_go_on();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
