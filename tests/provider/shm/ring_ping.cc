// One way of a 64-byte record through the ring between two processes, each on a core of its own, beside what
// handing over one cache line takes: median, over batches, of half a round trip.
// SPDX-License-Identifier: BSD-2-Clause
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "src/provider/shm/ring.h"
#include "tests/support/child_process.h"
#include "tests/support/median_time.h"

using namespace exs;
using namespace exs::shm;

namespace {

constexpr int kBatches = 51;
constexpr int kRounds = 2'000;
constexpr std::array<std::size_t, 7> kSizes{16, 64, 104, 232, 1024, 4096, 65536};

void pin(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (::sched_setaffinity(0, sizeof cores, &cores) != 0) std::puts("not pinned");
}

Mapping segment() {
  UniqueFd descriptor;
  return std::move(Mapping::create(kSegmentBytes, descriptor).value());
}

double median_ns(const std::function<void()>& round) {
  return exs::test::median_time_ns(kBatches, kRounds, round) / 2;
}

struct End {
  RingWriter out;
  RingReader in;
  std::vector<std::byte> message;

  bool send() { return out.write(RecordHeader{.link = 1, .kind = 2}, message); }
  void receive() {
    RecordHeader header;
    while (!in.peek(header)) (void)in.settle();
    in.copy(0, std::span(message).first(std::min<std::size_t>(header.length_bytes, message.size())));
    (void)in.pop();
  }
};

double back_and_forth(std::size_t bytes) {
  const Mapping there = segment();
  const Mapping back = segment();
  const test::Child echo([&] {
    pin(1);
    End end{RingWriter(back.bytes()), RingReader(there.bytes()), std::vector<std::byte>(bytes)};
    for (;;) {
      end.receive();
      end.send();
    }
  });
  End end{RingWriter(there.bytes()), RingReader(back.bytes()), std::vector<std::byte>(bytes)};
  return median_ns([&] {
    end.send();
    end.receive();
  });
}

// A record after the other, each as soon as there is room.
double one_way_only(std::size_t bytes) {
  const Mapping there = segment();
  const test::Child sink([&] {
    pin(1);
    End end{RingWriter(), RingReader(there.bytes()), std::vector<std::byte>(bytes)};
    for (;;) end.receive();
  });
  End end{RingWriter(there.bytes()), RingReader(), std::vector<std::byte>(bytes)};
  return 2 * median_ns([&] {
           while (!end.send()) {
           }
         });
}

double cache_line() {
  const Mapping mapping = segment();
  const auto there = shared_word<std::uint64_t>(mapping.bytes().data());
  const auto back = shared_word<std::uint64_t>(mapping.bytes().data() + 4096);
  const test::Child echo([&] {
    pin(1);
    for (std::uint64_t round = 1;; ++round) {
      while (there.load(std::memory_order_acquire) != round) {
      }
      back.store(round, std::memory_order_release);
    }
  });
  std::uint64_t round = 0;
  return median_ns([&] {
    there.store(++round, std::memory_order_release);
    while (back.load(std::memory_order_acquire) != round) {
    }
  });
}

}  // namespace

int main() {
  pin(0);
  std::printf("one cache line, one way: %.1f ns\n", cache_line());
  std::puts("    bytes   one way, ns   record after record, ns   GB/s");
  for (const std::size_t bytes : kSizes) {
    const double after_another = one_way_only(bytes);
    std::printf("%9zu %13.1f %25.1f %6.2f\n", bytes, back_and_forth(bytes), after_another,
                static_cast<double>(bytes) / after_another);
  }
  return 0;
}
