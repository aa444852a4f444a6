// The common part of exs-blast and exs-ping: roles, control exchange, two processes on one machine, sweep, report, exit status.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>

#include "perf/support/options.h"
#include "tools/common/child_process.h"

namespace perf {

// Operations that a connection may have pending in each direction beyond its depth.
inline constexpr std::uint32_t kSpareOperations = 16;

// The whole main().
int run(const Benchmark& benchmark, int argc, const char* const* argv);

// Connects, measures once, closes.
Measurement measure(const Benchmark& benchmark, const Options& options, const Job& job,
                    const std::string& host, std::uint16_t port, const Progress::OnInterval& on_interval);

struct ServerSettings {
  std::string address;
  std::uint16_t port = 0;
  std::string provider;
  bool quiet = false;
  bool one_client = false;         // serve one client with all its measurements, then end
  bool one_after_another = false;  // wait for the next client when this one has gone
  int port_out = -1;               // write the port there, as two bytes; -1: print it in the first line
};
// Serves until SIGINT or SIGTERM; as one end of --self, until SIGTERM. Returns the exit status.
int run_server(const Benchmark& benchmark, const ServerSettings& settings);

// The server's end for --self, in a process of its own on this machine.
class ServerProcess {
 public:
  // Forks: call before exs_init() and before any thread exists.
  ServerProcess(const Benchmark& benchmark, const Options& options);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] bool pinned() const { return pinned_; }
  // Stops the server. Returns false if it ended with an error.
  [[nodiscard]] bool stop() { return process_->stop() == 0; }

 private:
  std::unique_ptr<tools::ChildProcess> process_;
  std::uint16_t port_ = 0;
  bool pinned_ = false;
};

// The server's end for --self on a simulated network, which is inside of one process. Goes before the library.
class ServerHere {
 public:
  ServerHere(const Benchmark& benchmark, const Options& options);
  ~ServerHere();
  ServerHere(const ServerHere&) = delete;
  ServerHere& operator=(const ServerHere&) = delete;
  [[nodiscard]] std::uint16_t port() const;

 private:
  class Running;
  const std::unique_ptr<Running> running_;
};

}  // namespace perf
