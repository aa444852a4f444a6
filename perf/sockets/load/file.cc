// The load file: calls on a file.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "perf/sockets/load/clock.h"
#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {

// The shortest calls: reads at the end of a file, and empty writes. The cost of a few instructions shows only in the fastest batch.
void file(const Job& job) {
  constexpr int kBatch = 2'000;
  std::FILE* const made = std::tmpfile();
  check(made != nullptr, "tmpfile");
  const int descriptor = fileno(made);
  char byte = 0;
  double least = 1;
  for (const double began = now_s(); now_s() < began + job.seconds;) {
    const double batch_began = now_s();
    for (int number = 0; number < kBatch; ++number) {
      check(read(descriptor, &byte, 1) == 0, "read");
      check(write(descriptor, &byte, 0) == 0, "write");
    }
    least = std::min(least, now_s() - batch_began);
  }
  std::fclose(made);
  std::printf("{\"call_ns\": %.3f}\n", least / kBatch / 2 * 1e9);
}

}  // namespace sockets_load
