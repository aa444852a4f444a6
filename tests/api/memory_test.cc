// exs_mregister, exs_mderegister, exs_alloc, exs_free.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace memory_test {

struct Fixture {
  InitializedLibrary library;
  std::byte bytes[4096] = {};
  const std::size_t page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
};

struct Connected : Fixture {
  Queue queue;
  Memory sink{1 << 16};
  Pair pair{queue};

  int send(exs_mhandle_t region, std::size_t length_bytes, int flags = 0) {
    return exs_send(pair.left, bytes, length_bytes, flags, queue.handle(), nullptr, region);
  }
  int receive(std::size_t length_bytes) {
    return exs_recv(pair.right, sink.at(), length_bytes, 0, queue.handle(), nullptr, sink.handle());
  }
};

}  // namespace memory_test

BOOST_AUTO_TEST_SUITE(memory_test)

BOOST_FIXTURE_TEST_CASE(register_refuses_empty_ranges_and_bad_flags, Fixture) {
  BOOST_TEST(outcome(exs_mregister(bytes, 0, 0)) == "EINVAL");
  for (const int flags : {0x2, 0x800, EXS_MRF_WAIT, EXS_MRF_LOCAL_ONLY | EXS_MRF_REMOTE_READ,
                          EXS_MRF_LOCAL_ONLY | EXS_MRF_REMOTE_WRITE, -1}) {
    BOOST_TEST(outcome(exs_mregister(bytes, sizeof bytes, flags)) == "EINVAL");
  }
}

BOOST_FIXTURE_TEST_CASE(register_takes_every_sensible_combination_of_flags, Fixture) {
  for (const int flags :
       {0, EXS_MRF_SHARED, EXS_MRF_LOCAL_ONLY, EXS_MRF_LOCAL_ONLY | EXS_MRF_SHARED, EXS_MRF_REMOTE_READ,
        EXS_MRF_REMOTE_WRITE, EXS_MRF_REMOTE_READ | EXS_MRF_REMOTE_WRITE}) {
    const exs_mhandle_t region = exs_mregister(bytes + 1, 5, flags);
    BOOST_TEST(region > 0);
    BOOST_TEST(exs_mderegister(region, 0) == 0);
  }
}

BOOST_FIXTURE_TEST_CASE(register_refuses_unmapped_ranges, Fixture) {
  void* three_pages =
      ::mmap(nullptr, 3 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(three_pages != MAP_FAILED);
  auto* start = static_cast<std::byte*>(three_pages);
  BOOST_REQUIRE(::munmap(start + page_bytes, page_bytes) == 0);
  BOOST_TEST(outcome(exs_mregister(nullptr, 1, 0)) == "EFAULT");
  BOOST_TEST(outcome(exs_mregister(start, 3 * page_bytes, 0)) == "EFAULT");
  BOOST_TEST(outcome(exs_mregister(start + page_bytes - 1, 2, 0)) == "EFAULT");
  BOOST_TEST(outcome(exs_mregister(start + 2 * page_bytes - 1, 2, 0)) == "EFAULT");
  BOOST_TEST(outcome(exs_mregister(start, SIZE_MAX, 0)) == "EFAULT");
  const exs_mhandle_t region = exs_mregister(start, page_bytes, 0);
  BOOST_TEST(region > 0);
  BOOST_TEST(exs_mderegister(region, 0) == 0);
  ::munmap(three_pages, 3 * page_bytes);
}

BOOST_FIXTURE_TEST_CASE(a_stale_region_is_refused_and_never_names_another_one, Fixture) {
  const exs_mhandle_t stale = exs_mregister(bytes, sizeof bytes, 0);
  BOOST_TEST(exs_mderegister(stale, 0) == 0);
  const exs_mhandle_t fresh = exs_mregister(bytes, sizeof bytes, 0);
  BOOST_TEST(fresh != stale);
  BOOST_TEST(outcome(exs_mderegister(stale, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_mderegister(stale, EXS_MRF_WAIT)) == "EINVAL");
  for (const exs_mhandle_t never : {EXS_MHANDLE_INVALID, EXS_MHANDLE_UNREGISTERED, exs_mhandle_t{1 << 30}}) {
    BOOST_TEST(outcome(exs_mderegister(never, 0)) == "EINVAL");
  }
  BOOST_TEST(outcome(exs_mderegister(fresh, EXS_MRF_SHARED)) == "EINVAL");
  BOOST_TEST(exs_mderegister(fresh, EXS_MRF_WAIT) == 0);
}

BOOST_FIXTURE_TEST_CASE(regions_may_overlap_and_there_may_be_many, Fixture) {
  std::vector<exs_mhandle_t> regions;
  for (int i = 0; i < 2000; ++i) regions.push_back(exs_mregister(bytes, static_cast<std::size_t>(i) + 1, 0));
  BOOST_TEST(*std::min_element(regions.begin(), regions.end()) > 0);
  for (const exs_mhandle_t region : regions) BOOST_REQUIRE_EQUAL(exs_mderegister(region, 0), 0);
}

BOOST_FIXTURE_TEST_CASE(alloc_gives_zeroed_aligned_memory_of_its_own, Fixture) {
  for (const std::size_t length : {std::size_t{1}, page_bytes, page_bytes + 1, std::size_t{1} << 20}) {
    exs_mhandle_t region = EXS_MHANDLE_INVALID;
    auto* memory = static_cast<std::byte*>(exs_alloc(length, &region));
    BOOST_REQUIRE(memory != nullptr);
    BOOST_TEST(region > 0);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(memory) % page_bytes == 0U);
    BOOST_TEST(std::all_of(memory, memory + length, [](std::byte byte) { return byte == std::byte{0}; }));
    std::memset(memory, 0x5a, length);
    BOOST_TEST(outcome(exs_mderegister(region, 0)) == "EBUSY");
    BOOST_TEST(exs_free(memory) == 0);
    BOOST_TEST(outcome(exs_free(memory)) == "EINVAL");
    BOOST_TEST(outcome(exs_mderegister(region, 0)) == "EINVAL");
  }
}

BOOST_FIXTURE_TEST_CASE(alloc_and_free_refuse_what_makes_no_sense, Fixture) {
  exs_mhandle_t region{7};
  BOOST_TEST(exs_alloc(0, &region) == nullptr);
  BOOST_TEST(errno_name(errno) == "EINVAL");
  BOOST_TEST(exs_alloc(1, nullptr) == nullptr);
  BOOST_TEST(errno_name(errno) == "EINVAL");
  for (const std::size_t length : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 60}) {
    BOOST_TEST(exs_alloc(length, &region) == nullptr);
    BOOST_TEST(errno_name(errno) == "ENOMEM");
  }
  BOOST_TEST(region == 7);
  BOOST_TEST(outcome(exs_free(bytes)) == "EINVAL");
  BOOST_TEST(exs_free(nullptr) == 0);
}

BOOST_FIXTURE_TEST_CASE(local_only_memory_backs_receives_and_immediate_sends_alone, Connected) {
  const exs_mhandle_t local = exs_mregister(bytes, sizeof bytes, EXS_MRF_LOCAL_ONLY);
  BOOST_REQUIRE_EQUAL(receive(64), 0);
  BOOST_TEST(outcome(send(local, 64, EXS_NO_IMMEDIATE)) == "EACCES");
  BOOST_TEST(outcome(send(local, 1025)) == "EACCES");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 1);  // the receive
  BOOST_TEST(outcome(send(local, 64)) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(exs_recv(pair.left, bytes, 2000, 0, queue.handle(), nullptr, local) == 0);
  BOOST_TEST(exs_send(pair.right, sink.at(), 2000, 0, queue.handle(), nullptr, sink.handle()) == 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "0");
  BOOST_TEST(exs_mderegister(local, 0) == 0);
}

BOOST_FIXTURE_TEST_CASE(normal_sends_need_the_right_to_be_read, Connected) {
  const exs_mhandle_t writable = exs_mregister(bytes, sizeof bytes, EXS_MRF_REMOTE_WRITE);
  const exs_mhandle_t readable = exs_mregister(bytes, sizeof bytes, EXS_MRF_REMOTE_READ);
  BOOST_TEST(outcome(send(writable, 2000)) == "EACCES");
  BOOST_REQUIRE_EQUAL(receive(2000), 0);
  BOOST_TEST(outcome(send(readable, 2000)) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(exs_mderegister(writable, 0) == 0);
  BOOST_TEST(exs_mderegister(readable, 0) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_region_is_busy_from_post_to_event, Connected) {
  const exs_mhandle_t region = exs_mregister(bytes, sizeof bytes, 0);
  BOOST_REQUIRE_EQUAL(send(region, sizeof bytes), 0);  // stays open: the peer has posted no receive
  BOOST_TEST(outcome(exs_mderegister(region, 0)) == "EBUSY");
  BOOST_REQUIRE_EQUAL(send(region, sizeof bytes), 0);  // still usable
  BOOST_REQUIRE_EQUAL(receive(sizeof bytes), 0);
  BOOST_REQUIRE_EQUAL(receive(sizeof bytes), 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(exs_mderegister(region, 0) == 0);
}

BOOST_FIXTURE_TEST_CASE(allocated_memory_is_busy_from_post_to_event, Connected) {
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  void* memory = exs_alloc(8192, &region);
  BOOST_REQUIRE(memory != nullptr);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory, 8192, 0, queue.handle(), nullptr, region), 0);
  BOOST_TEST(outcome(exs_free(memory)) == "EBUSY");
  BOOST_REQUIRE_EQUAL(receive(8192), 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(exs_free(memory) == 0);
}

BOOST_FIXTURE_TEST_CASE(deregister_waits_until_the_region_is_idle, Connected) {
  const exs_mhandle_t region = exs_mregister(bytes, sizeof bytes, 0);
  BOOST_REQUIRE_EQUAL(send(region, sizeof bytes), 0);
  int result = -1;
  std::thread waiting([&] { result = exs_mderegister(region, EXS_MRF_WAIT); });
  BOOST_REQUIRE_EQUAL(receive(sizeof bytes), 0);
  waiting.join();
  BOOST_TEST(result == 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(outcome(send(region, 1)) == "EINVAL");
}

BOOST_FIXTURE_TEST_CASE(of_two_that_wait_for_a_region_one_gets_it, Connected) {
  const exs_mhandle_t region = exs_mregister(bytes, sizeof bytes, 0);
  BOOST_REQUIRE_EQUAL(send(region, sizeof bytes), 0);
  std::atomic<int> done{0};
  const auto wait = [&] {
    if (exs_mderegister(region, EXS_MRF_WAIT) == 0) ++done;
  };
  std::thread first(wait);
  std::thread second(wait);
  BOOST_REQUIRE_EQUAL(receive(sizeof bytes), 0);
  first.join();
  second.join();
  BOOST_TEST(done == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
