// EXS_MHANDLE_UNREGISTERED: ordinary memory, copied when small, else registered for as long as the operation.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace unregistered_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Pair pair{queue};
  std::vector<std::byte> source = std::vector<std::byte>(1 << 20);
  std::vector<std::byte> sink = std::vector<std::byte>(1 << 20);

  Fixture() {
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 >> 3);
  }
  int send(const void* buffer, std::size_t length, int flags = 0) {
    return exs_send(pair.left, buffer, length, flags, queue.handle(), this, EXS_MHANDLE_UNREGISTERED);
  }
  int receive(void* buffer, std::size_t length) {
    return exs_recv(pair.right, buffer, length, 0, queue.handle(), this, EXS_MHANDLE_UNREGISTERED);
  }
};

}  // namespace unregistered_test

BOOST_FIXTURE_TEST_SUITE(unregistered_test, Fixture)

BOOST_AUTO_TEST_CASE(messages_of_all_sizes_arrive_and_the_event_has_what_was_posted) {
  for (const int flags : {0, EXS_NO_IMMEDIATE}) {
    for (const std::size_t length : {0UL, 1UL, 1024UL, 1025UL, 1UL << 20}) {
      std::memset(sink.data(), 0, sink.size());
      BOOST_REQUIRE_EQUAL(receive(sink.data(), length), 0);
      BOOST_REQUIRE_EQUAL(send(source.data(), length, flags), 0);
      const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
      const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
      for (const auto& [event, buffer] : {std::pair{sent, source.data()}, std::pair{received, sink.data()}}) {
        const exs_evt_xfer_t& told = event.exs_evt_union.exs_evt_xfer;
        BOOST_TEST(event.exs_evt_errno == 0);
        BOOST_TEST(event.exs_evt_ahandle == this);
        BOOST_TEST(told.exs_evt_buf == buffer);
        BOOST_TEST(told.exs_evt_bufsize == length);
        BOOST_TEST(told.exs_evt_length == length);
        BOOST_TEST(told.exs_evt_mhandle == EXS_MHANDLE_UNREGISTERED);
      }
      const bool copied = flags == 0 && length > 0 && length <= 1024;
      BOOST_TEST(((sent.exs_evt_flags & EXS_EVF_COPIED) != 0U) == copied);
      BOOST_TEST(std::memcmp(source.data(), sink.data(), length) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_copied_is_the_memory_as_it_was_at_the_post) {
  BOOST_REQUIRE_EQUAL(send(source.data(), 512, MSG_MORE), 0);
  std::vector<std::byte> before(source.begin(), source.begin() + 512);
  std::memset(source.data(), 0xee, 512);
  BOOST_REQUIRE_EQUAL(receive(sink.data(), 512), 0);
  BOOST_REQUIRE_EQUAL(exs_flush(pair.left), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(std::memcmp(sink.data(), before.data(), 512) == 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_union.exs_evt_xfer.exs_evt_buf == source.data());
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_mapped_is_efault_and_nothing_changes) {
  constexpr std::size_t kPage = 4096;
  auto* mapped = static_cast<std::byte*>(
      ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  BOOST_REQUIRE(mapped != MAP_FAILED);
  BOOST_REQUIRE_EQUAL(::munmap(mapped + kPage, kPage), 0);
  for (const std::size_t length : {kPage + 1, 3 * kPage}) {
    BOOST_TEST(outcome(send(mapped, length)) == "EFAULT");
    BOOST_TEST(outcome(receive(mapped, length)) == "EFAULT");
  }
  BOOST_TEST(outcome(send(mapped + kPage, 1)) == "EFAULT");
  BOOST_TEST(outcome(send(nullptr, 1)) == "EFAULT");
  BOOST_TEST(outcome(receive(mapped, SIZE_MAX)) == "EFAULT");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  ::munmap(mapped, kPage);
  ::munmap(mapped + 2 * kPage, kPage);
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_and_leaves_nothing_behind) {
  Queue small(1);
  const auto post = [&](std::size_t length) {
    return exs_send(pair.left, source.data(), length, 0, small.handle(), nullptr, EXS_MHANDLE_UNREGISTERED);
  };
  BOOST_REQUIRE_EQUAL(post(4000), 0);
  for (const std::size_t length : {10UL, 4000UL}) BOOST_TEST(outcome(post(length)) == "EAGAIN");
  BOOST_REQUIRE_EQUAL(receive(sink.data(), 4000), 0);
  BOOST_TEST(small.next_outcome(pair.left, EXS_EVT_SEND) == "0");
}

BOOST_AUTO_TEST_CASE(many_are_under_way_when_the_connection_ends) {
  for (int i = 0; i < 20; ++i) {
    const std::size_t length = i % 2 == 0 ? 100 : 100'000;
    BOOST_REQUIRE_EQUAL(send(source.data(), length), 0);
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.left, sink.data(), length, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED), 0);
  }
  exs_close(pair.right);
  for (int i = 0; i < 20; ++i) {
    queue.next_of(pair.left, EXS_EVT_SEND);
    queue.next_of(pair.left, EXS_EVT_RECV);
  }
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
