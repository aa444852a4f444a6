// SPDX-License-Identifier: BSD-2-Clause
#include "tools/crowd/client_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "tools/common/failure.h"
#include "tools/crowd/client_load.h"
#include "tools/crowd/progress.h"

namespace crowd {
namespace {

// Both processes run this program, so the structs travel between them as they are.
struct Command {
  Phase phase = Phase::connect;
  std::uint16_t port = 0;
  std::uint32_t connections = 0;
};
struct Report {
  std::uint64_t errors = 0;  // so far
  std::array<char, 160> first_error{};
};

Report report_of(const ErrorCount& errors) {
  Report report;
  report.errors = errors.count;
  std::strncpy(report.first_error.data(), errors.first.c_str(), report.first_error.size() - 1);
  return report;
}

int run_client(const Settings& settings, int commands) {
  // The signals keep their default and end this process at once: nobody needs its results by then.
  const exs::cpp::Library library;
  std::optional<ClientLoad> load;
  Command command;
  while (::recv(commands, &command, sizeof command, 0) == sizeof command) {
    switch (command.phase) {
      case Phase::connect:
        if (!load) load.emplace(settings, settings.connections / settings.processes + 1);
        load->connect(command.port, command.connections);
        break;
      case Phase::exchange: load->exchange(); break;
      case Phase::close: load->close(); break;
    }
    const Report report = report_of(load->errors());
    if (::send(commands, &report, sizeof report, MSG_NOSIGNAL) != sizeof report) return 1;
  }
  return 1;
}

}  // namespace

ClientProcess::ClientProcess(const Settings& settings) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) tools::fail("socketpair", errno);
  child_ = std::make_unique<tools::ChildProcess>([&] {
    ::close(ends[0]);
    try {
      return run_client(settings, ends[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "exs-crowd: a client process: %s\n", error.what());
      return 1;
    }
  });
  ::close(ends[1]);
  commands_ = ends[0];
}

ClientProcess::~ClientProcess() {
  ::close(commands_);
}

void ClientProcess::start_phase(Phase phase, std::uint16_t port, std::uint32_t connections) {
  const Command command{phase, port, connections};
  if (::send(commands_, &command, sizeof command, MSG_NOSIGNAL) != sizeof command) fail_as_child();
  in_phase_ = true;
}

// Ctrl-C reaches the whole group, and this process may be the last to get it.
void ClientProcess::fail_as_child() {
  const int signal = child_->wait_for_end();
  if (signal == SIGINT || signal == SIGTERM) end_as_interrupted();
  throw tools::Failure("a client process has ended" +
                       (signal != 0 ? " by signal " + std::to_string(signal) : ""));
}

bool ClientProcess::has_finished_phase() {
  if (!in_phase_) return true;
  Report report;
  const ssize_t bytes = ::recv(commands_, &report, sizeof report, MSG_DONTWAIT);
  if (bytes == -1 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes != sizeof report) fail_as_child();
  errors_ = {report.errors, report.first_error.data()};
  in_phase_ = false;
  return true;
}

}  // namespace crowd
