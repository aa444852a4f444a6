// The C++ layer: snapshots of the peer's memory that do not block the loop, and memory whose use by the peer coroutines
// await. One loop has both ends, so a snapshot that blocked it would never end.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "tests/api/hpp_pair.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_peer_memory_test {

constexpr std::size_t kSlotBytes = 256;
constexpr unsigned kSlots = 3;

struct Fixture : ConnectedLoop {
  // The owner's end publishes the memory; the other end reads it.
  SharedMemory publish() { return pair.right.share_for_reading(memory.bytes(), memory.region()); }
  exs_slots_t& slots() { return *reinterpret_cast<exs_slots_t*>(memory.bytes().data()); }
  exs_window_t& window() { return *reinterpret_cast<exs_window_t*>(memory.bytes().data()); }
  void update(int value) {
    std::memset(exs_slots_begin(&slots()), value, kSlotBytes);
    exs_slots_end(&slots());
  }
  Result snapshot(exs_snapshot_t* told, std::uint64_t offset = 0,
                  std::optional<Clock::duration> timeout = std::nullopt) {
    return loop.block_on(pair.left.recv_snapshot(into, offset, 0, told, timeout));
  }
  // The window is at the start, the data behind it.
  Result look(std::optional<Clock::duration> timeout = std::nullopt) {
    return loop.block_on(pair.left.recv_window(into, sizeof(exs_window_t), 0, timeout));
  }

  const Buffer memory{exs_slots_bytes(kSlots, kSlotBytes)};
  std::array<std::byte, kSlotBytes> into{};
};

Task<> next_of(SharedMemory& shared, PeerUse& use) {
  use = co_await shared.next();
}

}  // namespace hpp_peer_memory_test

BOOST_FIXTURE_TEST_SUITE(hpp_peer_memory_test, Fixture)

BOOST_AUTO_TEST_CASE(a_snapshot_is_awaited_and_tells_its_update) {
  exs_slots_init(&slots(), kSlots, kSlotBytes);
  const SharedMemory shared = publish();
  exs_snapshot_t told{};
  BOOST_TEST(name_of(snapshot(&told).error) == "ENOMSG");
  for (int value = 1; value <= 4; ++value) {
    update(value);
    BOOST_TEST(snapshot(&told).value() == into.size());
    BOOST_TEST(told.update == static_cast<std::uint64_t>(value));
    BOOST_TEST(told.tries == 1U);
    for (const std::byte byte : into) BOOST_TEST((byte == static_cast<std::byte>(value)));
  }
  BOOST_TEST(name_of(snapshot(&told, 1).error) == "ERANGE");
  slots().slot_count = 1;
  BOOST_TEST(name_of(snapshot(&told).error) == "EINVAL");
  BOOST_TEST(name_of(loop.block_on(pair.left.recv_snapshot(into, 0, 4)).error) == "EINVAL");
  BOOST_TEST(name_of(loop.block_on(pair.left.recv_snapshot({}, 0, 0)).error) == "EINVAL");
}

BOOST_AUTO_TEST_CASE(a_window_is_awaited_until_its_owner_has_ended_the_update) {
  const SharedMemory shared = publish();
  BOOST_TEST(look().value() == into.size());
  exs_window_begin(&window());
  BOOST_TEST(name_of(look(5ms).error) == "EINPROGRESS");
  const auto owner = [](Fixture& fixture) -> Task<> {
    BOOST_TEST(co_await fixture.loop.sleep_for(1ms));
    fixture.memory.bytes()[sizeof(exs_window_t)] = std::byte{7};
    exs_window_end(&fixture.window());
  };
  loop.spawn(owner(*this));
  BOOST_TEST(look().value() == into.size());
  BOOST_TEST((into[0] == std::byte{7}));
  loop.run();
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_shared_nothing_and_a_connection_that_ends_are_told_apart) {
  BOOST_TEST(name_of(look(1ms).error) == "ENOMSG");
  BOOST_TEST(name_of(snapshot(nullptr, 0, 1ms).error) == "ENOMSG");
  std::string outcome;
  const auto reader = [](Fixture& fixture, std::string& how) -> Task<> {
    how = name_of(co_await fixture.pair.left.recv_window(fixture.into, 8, 0));
  };
  loop.spawn(reader(*this, outcome));
  pair.left.cancel();
  loop.run();
  BOOST_TEST(outcome == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(what_the_peer_reads_is_told_again_and_again) {
  SharedMemory shared = publish();
  for (std::size_t round = 1; round <= 3; ++round) {
    PeerUse use;
    loop.spawn(next_of(shared, use));
    BOOST_TEST(use.transfers == 0U);
    const auto read = [](Fixture& fixture, std::size_t at) -> Task<> {
      const auto part = std::span(fixture.into).first(at);
      BOOST_TEST((co_await fixture.pair.left.recv_at(at, part)).bytes == at);
    };
    loop.block_on(read(*this, round));
    loop.run();
    BOOST_TEST(use);
    BOOST_TEST(use.transfers == 1U);
    BOOST_TEST(use.bytes == round);
    BOOST_TEST(use.offset == round);
  }
}

BOOST_AUTO_TEST_CASE(what_nobody_awaited_is_added_up_and_told_at_once) {
  SharedMemory shared = pair.right.share_for_writing(memory.bytes(), memory.region());
  const auto write = [](Fixture& fixture) -> Task<> {
    const std::array<std::byte, 10> bytes{};
    for (int i = 0; i < 3; ++i) BOOST_TEST(co_await fixture.pair.left.send_at(20, bytes));
  };
  loop.block_on(write(*this));
  PeerUse all{};
  while (all.transfers < 3) {
    PeerUse use;
    loop.block_on(next_of(shared, use));
    BOOST_REQUIRE(use);
    all.transfers += use.transfers;
    all.bytes += use.bytes;
  }
  BOOST_TEST(all.bytes == 30U);
}

BOOST_AUTO_TEST_CASE(memory_that_is_taken_back_says_so_whenever_it_is_asked) {
  SharedMemory shared = publish();
  BOOST_TEST(look().value() == into.size());
  shared.close();
  PeerUse use;
  do {
    loop.block_on(next_of(shared, use));
  } while (use);
  BOOST_TEST(name_of(use.error) == "ECANCELED");
  loop.block_on(next_of(shared, use));
  BOOST_TEST(name_of(use.error) == "ECANCELED");
  shared = publish();  // the memory is free
  Result seen;
  do {  // until the reader has heard of it
    seen = look();
  } while (seen.error == std::errc::operation_canceled);
  BOOST_TEST(seen);
}

BOOST_AUTO_TEST_CASE(a_post_that_is_refused_is_told_by_the_next) {
  SharedMemory refused = pair.right.share_for_reading(memory.bytes(), EXS_MHANDLE_UNREGISTERED);
  PeerUse use;
  loop.block_on(next_of(refused, use));
  BOOST_TEST(name_of(use.error) == "EINVAL");
}

BOOST_AUTO_TEST_CASE(memory_may_be_dropped_before_and_after_its_loop) {
  std::unique_ptr<SharedMemory> survivor;
  PeerUse use;
  {
    ConnectedLoop dying;
    static_cast<void>(dying.pair.right.share_for_writing(memory.bytes(), memory.region()));
    survivor =
        std::make_unique<SharedMemory>(dying.pair.left.share_for_writing(memory.bytes(), memory.region()));
    dying.loop.spawn(next_of(*survivor, use));
  }
  BOOST_TEST(!use);
  loop.block_on(next_of(*survivor, use));
  BOOST_TEST(!use);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
