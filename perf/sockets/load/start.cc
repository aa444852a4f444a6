// The load start: starts of a program that does nothing.
// SPDX-License-Identifier: BSD-2-Clause
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "perf/sockets/load/clock.h"
#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {
namespace {

double start_one(char* const* environment) {
  char name[] = "true";
  char* words[] = {name, nullptr};
  pid_t child = 0;
  int status = 0;
  const double began = now_s();
  check(posix_spawnp(&child, name, nullptr, nullptr, words, environment) == 0, "posix_spawnp");
  check(waitpid(child, &status, 0) == child, "waitpid");
  const double spent = now_s() - began;
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "true is not true");
  return spent;
}

}  // namespace

void start(const Job& job) {
  std::string preload = "LD_PRELOAD=" + job.preload;
  char* const environment[] = {job.preload.empty() ? nullptr : preload.data(), nullptr};
  std::vector<double> spent;
  for (const double began = now_s(); now_s() < began + job.seconds;) spent.push_back(start_one(environment));
  check(!spent.empty(), "no time to start anything");
  std::nth_element(spent.begin(), spent.begin() + static_cast<long>(spent.size() / 2), spent.end());
  std::printf("{\"start_us\": %.1f, \"starts\": %zu}\n", spent[spent.size() / 2] * 1e6, spent.size());
}

}  // namespace sockets_load
