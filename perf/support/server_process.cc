// The server's end of --self, in a process of its own.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cerrno>

#include "perf/support/benchmark.h"
#include "tools/common/failure.h"

namespace perf {

ServerProcess::ServerProcess(const Benchmark& benchmark, const Options& options) : pinned_(false) {
  int ends[2];
  if (pipe(ends) != 0) tools::fail("pipe", errno);
  ServerSettings settings;
  settings.address = options.bind_address.empty() ? "127.0.0.1" : options.bind_address;
  settings.provider = options.provider;
  settings.quiet = true;
  settings.one_after_another = options.connections == 1;
  settings.port_out = ends[1];
  process_ = std::make_unique<tools::ChildProcess>([&] {
    close(ends[0]);
    if (options.pin) tools::pin_to_core(1);
    return run_server(benchmark, settings);
  });
  close(ends[1]);
  const bool told =
      TEMP_FAILURE_RETRY(read(ends[0], &port_, sizeof port_)) == static_cast<ssize_t>(sizeof port_);
  close(ends[0]);
  if (!told) throw tools::Exit{1};  // it has printed the reason
  if (options.pin) pinned_ = tools::pin_to_core(0);
}

}  // namespace perf
