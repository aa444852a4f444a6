// exs_recv_snapshot: snapshots of slots whose owner never pauses. To take more than a run of the whole test
// program does:
//   tests-api --run_test=snapshot_test -- --snapshots 100000
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

#include "tests/support/exs_fixture.h"
#include "tests/support/twice_mapped.h"

namespace exs::test {
namespace snapshot_test {

constexpr std::int64_t kHangLimitNs = kHangLimitSeconds * 1'000'000'000LL;
constexpr std::size_t kBefore = 192;  // bytes of other things before the slots

int snapshots_wished(int otherwise) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    if (std::strcmp(suite.argv[i], "--snapshots") == 0) return std::atoi(suite.argv[i + 1]);
  }
  return otherwise;
}

// After an update all words of its slot are its number.
struct Owner {
  Owner(unsigned slot_count, std::size_t slot_bytes)
      : owned_bytes(kBefore + exs_slots_bytes(slot_count, slot_bytes)),
        owned(owned_bytes),
        words(slot_bytes / 8) {
    slots = static_cast<exs_slots_t*>(static_cast<void*>(static_cast<char*>(owned.of_the_owner()) + kBefore));
    exs_slots_init(slots, slot_count, slot_bytes);
  }
  void begin() {
    const std::uint64_t number = slots->window.sequence / 2 + 1;
    std::ranges::fill(std::span(static_cast<std::uint64_t*>(exs_slots_begin(slots)), words), number);
  }
  void update() {
    begin();
    exs_slots_end(slots);
  }

  std::size_t owned_bytes;
  TwiceMapped owned;
  std::size_t words;
  exs_slots_t* slots;
};

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory sink{1 << 20};
  std::optional<Owner> owned;  // the persistent send, which ends with the pair, uses it
  Pair pair{queue};
  exs_snapshot_t snapshot{};

  Owner& owner_of(unsigned slot_count, std::size_t slot_bytes) {
    return owned.emplace(slot_count, slot_bytes);
  }
  void publish(const Owner& owner) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, owner.owned.registered(), owner.owned_bytes, EXS_PERSISTENT,
                                 queue.handle(), nullptr, owner.owned.handle()),
                        0);
  }
  std::string read(std::size_t length, std::uint64_t offset = 0, std::uint64_t slots_offset = kBefore,
                   std::int64_t timeout_ns = kHangLimitNs) {
    const ssize_t result = exs_recv_snapshot(pair.right, sink.at(), length, sink.handle(), offset,
                                             slots_offset, &snapshot, timeout_ns);
    return result >= 0 ? std::to_string(result) : errno_name(errno);
  }
  [[nodiscard]] bool all_words_are(std::uint64_t number, std::size_t length) {
    const void* words = sink.at();
    return std::ranges::all_of(std::span(static_cast<const std::uint64_t*>(words), length / 8),
                               [number](std::uint64_t word) { return word == number; });
  }
};

struct Size {
  std::size_t bytes;
  unsigned slot_count;
  int snapshots;
};

std::ostream& operator<<(std::ostream& out, const Size& size) {
  return out << size.slot_count << " slots of " << size.bytes << " bytes";
}

// By the promise of exs_recv_snapshot(3) a read may take 2^22 and 2^14 updates.
const Size kSizes[] = {{4096, 24, kSanitized ? 2000 : 10'000}, {1 << 20, 16, kSanitized ? 30 : 300}};

}  // namespace snapshot_test

BOOST_FIXTURE_TEST_SUITE(snapshot_test, Fixture)

BOOST_AUTO_TEST_CASE(the_newest_update_is_read_at_once) {
  Owner& owner = owner_of(4, 1000);
  owner.update();
  publish(owner);
  for (std::uint64_t number = 1; number <= 20; ++number) {
    BOOST_REQUIRE_EQUAL(read(1000), "1000");
    BOOST_TEST(all_words_are(number, 1000));
    BOOST_TEST(snapshot.update == number);
    BOOST_TEST(snapshot.newest == number);
    BOOST_TEST(snapshot.tries == 1U);
    BOOST_TEST(snapshot.span == 0U);
    owner.update();
  }
  BOOST_TEST(stats_of(pair.right).snapshots == 20U);
  BOOST_TEST(stats_of(pair.right).snapshot_retries == 0U);
}

BOOST_AUTO_TEST_CASE(an_update_that_never_ends_is_in_nobodys_way) {
  Owner& owner = owner_of(2, 64);
  owner.update();
  owner.begin();
  publish(owner);
  BOOST_TEST(read(64) == "64");
  BOOST_TEST(all_words_are(1, 64));
  BOOST_TEST(snapshot.update == 1U);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_slot_is_read) {
  Owner& owner = owner_of(3, 200);
  owner.update(), owner.update();
  static_cast<std::uint64_t*>(exs_slots_at(owner.slots, 2))[20] = 77;
  publish(owner);
  BOOST_TEST(read(8, 160) == "8");
  BOOST_TEST(all_words_are(77, 8));
  BOOST_TEST(
      exs_recv_snapshot(pair.right, sink.at(), 8, EXS_MHANDLE_UNREGISTERED, 160, kBefore, nullptr, -1) == 8);
}

// Who knows how many updates a read takes is not served with the newest one, which would not outlast it.
BOOST_AUTO_TEST_CASE(a_reader_reckons_with_the_updates_of_its_last_read) {
  Owner& owner = owner_of(6, 64);
  for (int i = 0; i < 33; ++i) owner.update();
  publish(owner);
  snapshot.span = 4;
  BOOST_REQUIRE_EQUAL(read(64), "64");
  BOOST_TEST(snapshot.update == 32U);
  BOOST_TEST(snapshot.newest == 33U);
  BOOST_TEST(snapshot.span == 0U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  Owner& owner = owner_of(2, 100);
  owner.update();
  publish(owner);
  for (const std::uint64_t slots : {kBefore + 1, kBefore + 4}) BOOST_TEST(read(8, 0, slots) == "EINVAL");
  BOOST_TEST(read(0) == "EINVAL");
  BOOST_TEST(read(101) == "ERANGE");
  BOOST_TEST(read(100, 1) == "ERANGE");
  BOOST_TEST(read(8, UINT64_MAX - 7) == "ERANGE");
  BOOST_TEST(read(8, 0, owner.owned_bytes) == "ERANGE");
  BOOST_TEST(read(8, 0, UINT64_MAX - 7) == "ERANGE");
  BOOST_TEST(read(100) == "100");
}

BOOST_AUTO_TEST_CASE(what_is_no_slots_is_told) {
  Owner& owner = owner_of(2, 100);
  publish(owner);
  BOOST_TEST(read(8) == "ENOMSG");
  owner.begin();
  BOOST_TEST(read(8) == "ENOMSG");
  exs_slots_end(owner.slots);
  BOOST_TEST(read(8) == "8");
  for (const std::uint64_t slot_count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{33}, UINT64_MAX}) {
    owner.slots->slot_count = slot_count;
    BOOST_TEST(read(8) == "EINVAL");
  }
  owner.slots->slot_count = EXS_SLOTS_MAX;
  owner.slots->slot_bytes = UINT64_MAX;
  BOOST_TEST(read(8) == "EINVAL");
  owner.slots->slot_bytes = INT64_MAX / (EXS_SLOTS_MAX + 1);
  BOOST_TEST(read(8) == "8");  // of update 1, in the first slot
  owner.slots->window.sequence = 4;
  BOOST_TEST(read(8) == "ERANGE");
}

// Each read puts the word that is in all slots into the counter, so it makes the updates itself: 8 the first
// time, none the second time.
BOOST_AUTO_TEST_CASE(a_slot_that_was_overwritten_is_read_again) {
  Owner& owner = owner_of(4, 64);
  owner.update();
  for (std::uint64_t update = 1; update <= 8; update *= 2)
    *static_cast<std::uint64_t*>(exs_slots_at(owner.slots, update)) = 2 * 9;
  publish(owner);
  void* const counter = static_cast<char*>(owner.owned.registered()) + kBefore;
  BOOST_TEST(exs_recv_snapshot(pair.right, counter, 8, owner.owned.handle(), 0, kBefore, &snapshot, -1) == 8);
  BOOST_TEST(snapshot.tries == 2U);
  BOOST_TEST(snapshot.update == 8U);  // 9 would not outlast 8 more
  BOOST_TEST(snapshot.newest == 9U);
  BOOST_TEST(stats_of(pair.right).snapshots == 1U);
  BOOST_TEST(stats_of(pair.right).snapshot_retries == 1U);
}

BOOST_DATA_TEST_CASE(every_snapshot_of_an_owner_that_spins_succeeds_and_is_whole, kSizes, size) {
  const int snapshots = snapshots_wished(size.snapshots);
  Owner& owner = owner_of(size.slot_count, size.bytes);
  owner.update();
  publish(owner);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) owner.update();
  });
  int torn = 0;
  int failed = 0;
  std::uint64_t tries = 0;
  std::uint64_t age = 0;
  for (int i = 0; i < snapshots; ++i) {
    const std::uint64_t before = snapshot.update;
    if (read(size.bytes) != std::to_string(size.bytes)) ++failed;
    if (!all_words_are(snapshot.update, size.bytes)) ++torn;
    BOOST_TEST(snapshot.newest >= before);
    tries += snapshot.tries;
    age += snapshot.newest - snapshot.update;
  }
  stop = true;
  writer.join();
  BOOST_TEST_MESSAGE(snapshots << " snapshots of " << size.bytes << " bytes, " << tries << " tries, mean age "
                               << age / static_cast<std::uint64_t>(snapshots) << " of "
                               << owner.slots->window.sequence / 2 << " updates");
  BOOST_TEST(failed == 0);
  BOOST_TEST(torn == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
