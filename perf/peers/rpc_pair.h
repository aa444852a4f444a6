// The common part of the RPC programs here: two processes, each with a core, and the times of calls. perf/compare compiles them if their
// libraries are installed.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace rpc_pair {

// Pins to the core with this index among those allowed, before a library makes threads.
inline void pin(int index) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed) && index-- == 0) CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Prints the median time of the calls that this time allows, after a warm-up.
inline void measure(double seconds, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarmup = 1000;
  for (int i = 0; i < kWarmup; ++i) call();
  std::vector<double> times_us;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (auto begun = Clock::now(); begun < end; begun = Clock::now()) {
    call();
    times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
  }
  const auto middle = times_us.begin() + static_cast<std::ptrdiff_t>(times_us.size() / 2);
  std::nth_element(times_us.begin(), middle, times_us.end());
  std::printf("{\"round_trip_us\": {\"p50\": %.3f}, \"calls\": %zu}\n", *middle, times_us.size());
}

// Runs PROGRAM BYTES SECONDS. `serve` writes a byte to the descriptor when it can be called, and serves until it is killed. `call` gets
// the address, the bytes of the argument and the seconds.
inline int run(
    int count, char** words, const std::function<void(const std::string& address, int ready)>& serve,
    const std::function<void(const std::string& address, std::size_t bytes, double seconds)>& call) {
  if (count != 3) return std::fprintf(stderr, "usage: %s BYTES SECONDS\n", words[0]), 2;
  const std::string address = "exs-perf-" + std::to_string(getpid());
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t server = fork();
  if (server == -1) return 1;
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(1);
    serve(address, ends[1]);
    _exit(1);
  }
  close(ends[1]);
  pin(0);
  char ready = 0;
  const bool is_ready = read(ends[0], &ready, 1) == 1;
  if (is_ready) call(address, std::strtoul(words[1], nullptr, 10), std::strtod(words[2], nullptr));
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return is_ready ? 0 : 1;
}

}  // namespace rpc_pair
