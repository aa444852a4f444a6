// A peer that writes whatever it likes into both segments of a channel while our reader and writer work: no
// access outside the words and slots (all else is inaccessible here), no call that does not return, no record
// that changes after it was shown.
//   provider.shm.ring_fuzz_test [--seconds N] [--seed S]
// Even rounds take mutations and calls in turn and are the same again for the same seed; in odd rounds the
// peer is a thread.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tests/provider/shm/hostile_ring.h"

using namespace exs;
using namespace exs::shm::test;
using exs::test::SeededDice;

namespace {

constexpr int kStepsARound = 3'000;

struct Options {
  std::uint64_t seconds = 2;
  std::uint64_t seed = 1;
};

void round_in_turns(GuardedSegment& in, GuardedSegment& out, std::uint64_t seed, RingCounts& counts) {
  SeededDice our_dice(seed + counts.rounds);
  SeededDice their_dice(~seed + counts.rounds);
  RingVictim victim(in.ours(), out.ours(), our_dice, counts);
  HostileRing hostile(in.theirs(), out.theirs(), their_dice);
  for (int i = 0; i < kStepsARound; ++i) {
    hostile.step();
    if (!victim.step()) return;
  }
}

void round_of_threads(GuardedSegment& in, GuardedSegment& out, std::uint64_t seed, RingCounts& counts) {
  SeededDice our_dice(seed + counts.rounds);
  RingVictim victim(in.ours(), out.ours(), our_dice, counts);
  std::atomic<bool> over = false;
  std::thread peer([&, seed = ~seed + counts.rounds] {
    SeededDice their_dice(seed);
    HostileRing hostile(in.theirs(), out.theirs(), their_dice);
    while (!over.load(std::memory_order_relaxed)) hostile.step();
  });
  for (int i = 0; i < 10 * kStepsARound && victim.step(); ++i) {
  }
  over = true;
  peer.join();
}

RingCounts fuzz(std::uint64_t seconds, std::uint64_t seed) {
  GuardedSegment in;
  GuardedSegment out;
  RingCounts counts;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    in.clear();
    out.clear();
    ring_round = "seed " + std::to_string(seed) + " round " + std::to_string(counts.rounds);
    (counts.rounds % 2 == 0 ? round_in_turns : round_of_threads)(in, out, seed, counts);
    ++counts.rounds;
  }
  return counts;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--seconds") {
      options.seconds = value;
    } else if (name == "--seed") {
      options.seed = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs("usage: ring_fuzz_test [--seconds N] [--seed S]\n", stderr);
    return 2;
  }
  ::alarm(static_cast<unsigned>(options.seconds) + 120);  // a call that does not return
  const RingCounts counts = fuzz(options.seconds, options.seed);
  std::printf(
      "seed %llu: %llu rounds, %llu records read, %llu written, %llu readers and %llu writers ended\n",
      static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(counts.rounds),
      static_cast<unsigned long long>(counts.records_read),
      static_cast<unsigned long long>(counts.records_written),
      static_cast<unsigned long long>(counts.readers_ended),
      static_cast<unsigned long long>(counts.writers_ended));
  const bool met_everything = counts.records_read > 0 && counts.records_written > 0 &&
                              counts.readers_ended > 0 && counts.writers_ended > 0;
  if (!met_everything) std::fputs("the fuzzer did not reach all it is for\n", stderr);
  return met_everything ? 0 : 1;
}
