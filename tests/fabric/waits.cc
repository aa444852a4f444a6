// A program that waits is woken by what arrives itself: here no alarm of the library goes off, so nothing that waits for one ends.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <thread>

#include "tests/fabric/world.h"

namespace exs::test {
namespace {

struct Alarms {
  std::mutex mutex;
  bool are_off = false;
  std::map<int, itimerspec> held_back;  // by timer
};

Alarms& alarms() {
  static Alarms all;
  return all;
}

int set_timer(int timer, int flags, const itimerspec* when, itimerspec* before) noexcept {
  return static_cast<int>(syscall(SYS_timerfd_settime, timer, flags, when, before));
}

}  // namespace
}  // namespace exs::test

// Comes before the C library's, for the provider and the library behind it, too.
extern "C" int timerfd_settime(int timer, int flags, const itimerspec* when, itimerspec* before) noexcept {
  exs::test::Alarms& all = exs::test::alarms();
  const std::lock_guard guard(all.mutex);
  if (!all.are_off) return exs::test::set_timer(timer, flags, when, before);
  all.held_back[timer] = *when;
  return 0;
}

namespace exs::test {
namespace {

constexpr int kTurns = 50;
constexpr int kTurnLimitMs = 20'000;
constexpr std::uint64_t kTurnsTag = 9;

// Those that are set meanwhile go off afterwards.
struct WithoutAlarms {
  WithoutAlarms() {
    const std::lock_guard guard(alarms().mutex);
    alarms().are_off = true;
  }
  ~WithoutAlarms() {
    const std::lock_guard guard(alarms().mutex);
    alarms().are_off = false;
    for (const auto& [timer, when] : alarms().held_back) set_timer(timer, 0, &when, nullptr);
    alarms().held_back.clear();
  }
  WithoutAlarms(const WithoutAlarms&) = delete;
  WithoutAlarms& operator=(const WithoutAlarms&) = delete;
};

Wishes wishes_for(fi_wait_obj wait, bool has_counters) {
  return {.hints = {}, .wait = wait, .queue_flags = 0, .has_counters = has_counters};
}

// Two sides that send a byte there and back in turns, each in a thread of its own. `wait` waits for the receive of that number.
template <typename Wait>
void take_turns(Side& a, Side& b, fi_addr_t to_b, Wait&& wait) {
  const fi_addr_t to_a = b.know(a);
  const auto run = [&](Side& self, fi_addr_t to, bool is_first) {
    const std::uint8_t sent = 1;
    std::uint8_t got = 0;
    for (int round = 1; round <= kTurns; ++round) {
      if (fi_trecv(self.ep.get(), &got, 1, nullptr, FI_ADDR_UNSPEC, kTurnsTag, 0, &got) != 0) return false;
      if (is_first && fi_tinject(self.ep.get(), &sent, 1, to, kTurnsTag) != 0) return false;
      if (!wait(self, round)) return false;
      if (!is_first && fi_tinject(self.ep.get(), &sent, 1, to, kTurnsTag) != 0) return false;
    }
    return true;
  };
  bool is_well = false;
  std::thread other([&] { is_well = run(b, to_a, false); });
  BOOST_TEST(run(a, to_b, true));
  other.join();
  BOOST_TEST(is_well);
}

bool read_one(Side& side) {
  fi_cq_tagged_entry entry{};
  return fi_cq_sread(side.cq.get(), &entry, 1, nullptr, kTurnLimitMs) == 1;
}

// By hand, as programs do that wait for other descriptors as well.
bool poll_for_one(Side& side) {
  pollfd wanted{-1, POLLIN, 0};
  if (fi_control(&side.cq->fid, FI_GETWAIT, &wanted.fd) != 0) return false;
  fi_cq_tagged_entry entry{};
  while (fi_cq_read(side.cq.get(), &entry, 1) != 1) {
    fid* fids[] = {&side.cq->fid};
    if (fi_trywait(side.fabric.get(), fids, 1) == 0 && ::poll(&wanted, 1, kTurnLimitMs) != 1) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(waits)

BOOST_AUTO_TEST_CASE(an_arrival_ends_a_wait_for_a_counter) {
  TwoSides sides(wishes_for(FI_WAIT_UNSPEC, true));
  take_turns(sides.a, sides.b, sides.to_b, [](Side& side, int round) {
    return fi_cntr_wait(side.receives.get(), static_cast<std::uint64_t>(round), kTurnLimitMs) == 0;
  });
  const WithoutAlarms without;
  take_turns(sides.a, sides.b, sides.to_b, [](Side& side, int round) {
    return fi_cntr_wait(side.receives.get(), static_cast<std::uint64_t>(kTurns + round), kTurnLimitMs) == 0;
  });
}

BOOST_AUTO_TEST_CASE(an_arrival_ends_a_read_that_waits) {
  TwoSides sides(wishes_for(FI_WAIT_UNSPEC, false));
  take_turns(sides.a, sides.b, sides.to_b, [](Side& side, int) { return read_one(side); });
  const WithoutAlarms without;
  take_turns(sides.a, sides.b, sides.to_b, [](Side& side, int) { return read_one(side); });
}

BOOST_AUTO_TEST_CASE(an_arrival_ends_a_poll_of_the_descriptor) {
  TwoSides sides(wishes_for(FI_WAIT_FD, false));
  take_turns(sides.a, sides.b, sides.to_b, [](Side& side, int) { return poll_for_one(side); });
  const WithoutAlarms without;
  take_turns(sides.a, sides.b, sides.to_b, [](Side& side, int) { return poll_for_one(side); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
