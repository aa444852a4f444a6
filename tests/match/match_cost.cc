// What it takes to find one among so many: of receives a message's, of messages a receive's, in each class. Median of batches, each
// look-up followed by putting back what was found.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "src/match/waiting_messages.h"
#include "src/match/waiting_receives.h"
#include "tests/support/median_time.h"

using namespace exs::match;

namespace {

constexpr int kBatches = 31;
constexpr int kRounds = 20'000;
constexpr std::uint64_t kSeed = 0x5eed;

struct Kind {
  const char* name;
  Criteria criteria;  // that fits the one
};
const Kind kKinds[] = {
    {"exact", {7, 7, 0}},
    {"any tag", {7, 0, UINT64_MAX}},
    {"any source", {kAnySource, 7, 0}},
    {"any source and tag", {kAnySource, 0, UINT64_MAX}},
};
constexpr Envelope kOne{7, 7};

double median_ns(const std::function<void()>& round) {
  return exs::test::median_time_ns(kBatches, kRounds, round);
}

double receives_ns(const Kind& kind, std::size_t others) {
  WaitingReceives receives(kSeed);
  int user = 0;
  for (std::size_t i = 0; i < others; ++i)
    receives.add({static_cast<std::uint32_t>(100 + i % 1000), 1000 + i, 0}, &user);
  receives.add(kind.criteria, &user);
  return median_ns([&] {
    if (receives.take_matching(kOne) == nullptr) std::abort();
    receives.add(kind.criteria, &user);
  });
}

// Those that wait fit none of the wildcards but the last, which takes the oldest.
double messages_ns(const Kind& kind, std::size_t others) {
  WaitingMessages messages(kSeed);
  int user = 0;
  messages.add(kOne, &user);
  for (std::size_t i = 0; i < others; ++i)
    messages.add({static_cast<std::uint32_t>(100 + i % 1000), 1000 + i}, &user);
  return median_ns([&] {
    const std::uint32_t found = messages.find(kind.criteria);
    if (found == kNone) std::abort();
    const Envelope envelope = messages.envelope(found);
    messages.remove(found);
    messages.add(envelope, &user);
  });
}

}  // namespace

int main() {
  std::printf("%-20s %10s %14s %14s\n", "class", "others", "receive, ns", "message, ns");
  for (const Kind& kind : kKinds)
    for (const std::size_t others : {std::size_t{0}, std::size_t{999}, std::size_t{99'999}})
      std::printf("%-20s %10zu %14.1f %14.1f\n", kind.name, others, receives_ns(kind, others),
                  messages_ns(kind, others));
}
