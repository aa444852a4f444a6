// A persistent receive that the peer maps: both ends share its bytes where the provider can, and know it where it
// cannot.
// SPDX-License-Identifier: BSD-2-Clause
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace window_map_test {

constexpr std::size_t kBlockBytes = 3 * 4096;
constexpr std::size_t kPageBytes = 4096;

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Pair pair{queue};
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  std::byte* memory = static_cast<std::byte*>(exs_alloc(kBlockBytes, &region));

  ~Fixture() { exs_free(memory); }
  // All but the first page.
  int offer(int flags = EXS_MAPPABLE) {
    return exs_recv(pair.left, memory + kPageBytes, kBlockBytes - kPageBytes, EXS_PERSISTENT | flags,
                    queue.handle(), nullptr, region);
  }
  int map(void* handle = nullptr) { return exs_window_map(pair.right, queue.handle(), handle); }
  exs_event_t mapped() { return queue.next_of(pair.right, EXS_EVT_MAP); }
  std::string map_outcome() { return errno_name(mapped().exs_evt_errno); }
  [[nodiscard]] bool shares_memory() const { return provider_of(pair.right) == "shm"; }
  void close_left() {
    BOOST_REQUIRE_EQUAL(exs_close(pair.left), 0);
    pair.left = -1;
  }
  void close_right() {
    BOOST_REQUIRE_EQUAL(exs_close(pair.right), 0);
    pair.right = -1;
  }
};

std::byte* start_of(const exs_event_t& event) {
  return static_cast<std::byte*>(event.exs_evt_union.exs_evt_map.exs_evt_address);
}

// Memory that several share: anything else that the process maps may come to lie there.
bool is_shared_there(const void* page) {
  const auto at = reinterpret_cast<std::uintptr_t>(page);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string rights;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> rights;
    if (begin <= at && at < end) return rights.ends_with('s');
  }
  return false;
}

}  // namespace window_map_test

BOOST_FIXTURE_TEST_SUITE(window_map_test, Fixture)

// shows: exs_window_map event EOPNOTSUPP
BOOST_AUTO_TEST_CASE(is_told_where_memory_is_not_shared) {
  if (shares_memory()) return;
  BOOST_REQUIRE_EQUAL(offer(), 0);
  BOOST_REQUIRE_EQUAL(map(this), 0);
  const exs_event_t event = mapped();
  BOOST_TEST(errno_name(event.exs_evt_errno) == "EOPNOTSUPP");
  BOOST_TEST(event.exs_evt_ahandle == this);
  BOOST_TEST(start_of(event) == nullptr);
}

BOOST_AUTO_TEST_CASE(shares_the_bytes_of_the_window) {
  if (!shares_memory()) return;
  BOOST_REQUIRE_EQUAL(offer(), 0);
  BOOST_REQUIRE_EQUAL(map(this), 0);
  const exs_event_t event = mapped();
  BOOST_REQUIRE_EQUAL(event.exs_evt_errno, 0);
  BOOST_TEST(event.exs_evt_ahandle == this);
  BOOST_TEST(event.exs_evt_union.exs_evt_map.exs_evt_length == kBlockBytes - kPageBytes);
  std::byte* const mine = memory + kPageBytes;
  std::byte* const theirs = start_of(event);
  BOOST_REQUIRE(theirs != mine);
  for (const std::size_t at : {std::size_t{0}, kBlockBytes - kPageBytes - 1}) {
    theirs[at] = std::byte{17};
    BOOST_TEST((mine[at] == std::byte{17}));
    mine[at] = std::byte{18};
    BOOST_TEST((theirs[at] == std::byte{18}));
  }
}

BOOST_AUTO_TEST_CASE(waits_for_the_peers_receive) {
  BOOST_REQUIRE_EQUAL(map(), 0);
  BOOST_REQUIRE_EQUAL(offer(), 0);
  BOOST_TEST(map_outcome() == (shares_memory() ? "0" : "EOPNOTSUPP"));
}

// With the messages' own way into the window at the same time.
BOOST_AUTO_TEST_CASE(is_written_by_sends_too) {
  if (!shares_memory()) return;
  BOOST_REQUIRE_EQUAL(offer(EXS_MAPPABLE | EXS_NOTIFY), 0);
  BOOST_REQUIRE_EQUAL(map(), 0);
  const exs_event_t event = mapped();
  BOOST_REQUIRE_EQUAL(event.exs_evt_errno, 0);
  Memory data(100);
  data.fill(3);
  BOOST_REQUIRE_EQUAL(
      exs_send_offset(pair.right, data.at(), 100, 0, queue.handle(), nullptr, data.handle(), 50), 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_PEER_WRITE).exs_evt_errno == 0);
  BOOST_TEST(std::memcmp(start_of(event) + 50, data.at(), 100) == 0);
}

BOOST_AUTO_TEST_CASE(maps_the_same_memory_any_number_of_times) {
  if (!shares_memory()) return;
  BOOST_REQUIRE_EQUAL(offer(), 0);
  BOOST_REQUIRE_EQUAL(map(), 0);
  BOOST_REQUIRE_EQUAL(map(), 0);
  std::byte* const first = start_of(mapped());
  BOOST_TEST(start_of(mapped()) == first);
  BOOST_REQUIRE_EQUAL(map(), 0);
  BOOST_TEST(start_of(mapped()) == first);
}

// shows: exs_window_map event EACCES
BOOST_AUTO_TEST_CASE(needs_the_owners_permission) {
  BOOST_REQUIRE_EQUAL(offer(0), 0);
  BOOST_REQUIRE_EQUAL(map(), 0);
  BOOST_TEST(map_outcome() == "EACCES");
}

// Whatever the owner does, the memory stays until the socket that mapped it is closed, and no longer.
BOOST_AUTO_TEST_CASE(outlives_the_owner) {
  if (!shares_memory()) return;
  BOOST_REQUIRE_EQUAL(offer(), 0);
  BOOST_REQUIRE_EQUAL(map(), 0);
  std::byte* const theirs = start_of(mapped());
  theirs[5] = std::byte{5};
  BOOST_REQUIRE_EQUAL(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES), 1);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
  BOOST_REQUIRE_EQUAL(exs_free(memory), 0);
  memory = nullptr;
  close_left();
  BOOST_TEST(exs_send(pair.right, nullptr, 0, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED) <= 0);
  BOOST_TEST((theirs[5] == std::byte{5}));
  theirs[6] = std::byte{6};
  BOOST_TEST(is_shared_there(theirs));
  close_right();
  BOOST_REQUIRE_EQUAL(exs_fini(), 0);
  BOOST_TEST(!is_shared_there(theirs));
  BOOST_REQUIRE_EQUAL(exs_init(EXS_VERSION), 0);  // the fixture ends it once more
}

// shows: exs_window_map event ECANCELED
BOOST_AUTO_TEST_CASE(ends_when_it_is_cancelled) {
  BOOST_REQUIRE_EQUAL(map(this), 0);
  BOOST_REQUIRE_EQUAL(exs_cancel(pair.right, this, EXS_CAF_FILDES | EXS_CAF_AHANDLE), 1);
  BOOST_TEST(map_outcome() == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(ends_with_the_socket) {
  BOOST_REQUIRE_EQUAL(map(), 0);
  const int right = pair.right;
  close_right();
  BOOST_TEST(queue.next_outcome(right, EXS_EVT_MAP) == "ECANCELED");
}

// shows: exs_window_map event EPIPE
BOOST_AUTO_TEST_CASE(ends_with_the_peer) {
  BOOST_REQUIRE_EQUAL(map(), 0);
  close_left();
  BOOST_TEST(map_outcome() == "EPIPE");
}

// shows: exs_window_map event ECONNRESET
BOOST_AUTO_TEST_CASE(ends_with_the_connection) {
  BOOST_REQUIRE_EQUAL(map(), 0);
  BOOST_REQUIRE_EQUAL(set_option(pair.left, EXS_SO_LINGER_MS, 0), 0);
  close_left();
  BOOST_TEST(map_outcome() == "ECONNRESET");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
