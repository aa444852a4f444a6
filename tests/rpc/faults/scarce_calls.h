// A client and a server of everything.x in one process, of which anything may fail.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <thread>

#include "base/clock.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {

// While one lives, a call of the library is under way in this thread. Each program has its own.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
};

// Short and long calls, results in memory of malloc(), a one-way call, calls that wait for a slot, one that is cancelled, and the end of
// everything. Returns whether all of it worked. Ends the process if an error is no error, or a result that came is wrong.
bool run_calls(std::int64_t limit_ms);

// Runs the calls three times: undisturbed, between begin() and end(), and undisturbed again, which must work. Afterwards no socket of exs is
// left over, and without the library no descriptor. Thread: that of a process that is made for it.
template <typename Begin, typename End>
void run_disturbed_calls(const Begin& begin, const End& end);

// Ends the process with this text.
[[noreturn]] void give_up(const char* what);
// How many sockets of exs there are, as the number of a new one tells.
int socket_numbers();
// Ends the process if count() stays above `before`; threads of the library close things later.
template <typename Count, typename Number>
void await_no_more(const Count& count, Number before, const char* what) {
  const std::uint64_t end_ns = monotonic_ns() + 10 * kNsPerSecond;
  while (count() > before) {
    if (monotonic_ns() > end_ns) give_up(what);
    std::this_thread::yield();
  }
}

inline constexpr std::int64_t kSoundLimitMs = 60'000;   // only a hang takes this long
inline constexpr std::int64_t kDisturbedLimitMs = 500;  // of what the fault may keep from coming

template <typename Begin, typename End>
void run_disturbed_calls(const Begin& begin, const End& end) {
  const std::size_t descriptors = open_descriptors();
  if (!run_calls(kSoundLimitMs)) give_up("nothing failed, and not all calls worked before");
  const int sockets = socket_numbers();
  begin();
  run_calls(kDisturbedLimitMs);
  end();
  if (!run_calls(kSoundLimitMs)) give_up("nothing failed any more, and not all calls worked");
  await_no_more(socket_numbers, sockets, "a socket of exs is left over");
  exs_fini();
  await_no_more(open_descriptors, descriptors, "a descriptor is left over");
}

}  // namespace exs::test
