// sockets-load: small loads on sockets, for perf/sockets/run. It makes plain calls and knows nothing of exs; its user chooses the
// preloaded library and the sockets.
// SPDX-License-Identifier: BSD-2-Clause
#include <getopt.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {
namespace {

constexpr const char* kUsage =
    "usage: sockets-load LOAD [--serve] [--at ADDRESS] [--size BYTES] [--time SECONDS]\n"
    "                    [--combine] [--preload LIBRARY]\n"
    "\n"
    "  LOAD        echo, stream, requests; file and start, which have no server\n"
    "  --serve     serve the load: prints the address, and ends when it is ended\n"
    "  --at        tcp (to serve), tcp:PORT (to connect) or unix:PATH\n"
    "  --combine   leave TCP's combining of small sends (Nagle) on\n"
    "  --preload   into what start starts\n"
    "\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

const std::map<std::string, void (*)(const Job&)> kLoads = {
    {"echo", echo}, {"stream", stream}, {"requests", requests}, {"file", file}, {"start", start}};

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

Job job_of(int count, char** words, bool& serves) {
  const option options[] = {{"serve", no_argument, nullptr, 'l'},
                            {"at", required_argument, nullptr, 'a'},
                            {"size", required_argument, nullptr, 's'},
                            {"time", required_argument, nullptr, 't'},
                            {"combine", no_argument, nullptr, 'c'},
                            {"preload", required_argument, nullptr, 'p'},
                            {nullptr, 0, nullptr, 0}};
  Job job;
  for (int found = 0; (found = getopt_long(count, words, "", options, nullptr)) != -1;) {
    switch (found) {
      case 'l': serves = true; break;
      case 'a': job.where = optarg; break;
      case 's': job.size_bytes = std::strtoul(optarg, nullptr, 10); break;
      case 't': job.seconds = std::strtod(optarg, nullptr); break;
      case 'c': job.combines = true; break;
      case 'p': job.preload = optarg; break;
      default: usage();
    }
  }
  if (optind != count - 1 || job.size_bytes == 0 || !(job.seconds > 0)) usage();
  job.load = words[optind];
  return job;
}

}  // namespace
}  // namespace sockets_load

int main(int count, char** words) {
  using namespace sockets_load;
  if (count == 2 && std::strcmp(words[1], "--help") == 0) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  bool serves = false;
  const Job job = job_of(count, words, serves);
  const auto load = kLoads.find(job.load);
  if (load == kLoads.end()) usage();
  if (serves) serve(job);
  load->second(job);
  return 0;
}
