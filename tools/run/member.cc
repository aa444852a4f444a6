// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/member.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tools/common/failure.h"
#include "tools/run/exit_status.h"

namespace run {
namespace {

struct Ends {
  exs::UniqueFd ours, theirs;
};

// Both ends close on exec, so each process gets only its own.
Ends ends_of(int made, const int (&ends)[2]) {
  if (made != 0) tools::fail("cannot start all processes", errno);
  const int flags = ::fcntl(ends[0], F_GETFL);
  ::fcntl(ends[0], F_SETFL, flags | O_NONBLOCK);
  return {exs::UniqueFd(ends[0]), exs::UniqueFd(ends[1])};
}
Ends make_pipe() {
  int ends[2];
  const int made = ::pipe2(ends, O_CLOEXEC);
  return ends_of(made, ends);
}
Ends make_socketpair() {
  int ends[2];
  const int made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  return ends_of(made, ends);
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::vector<std::string> arguments_of(const MemberProgram& program, const std::string& rank,
                                      const std::string& size) {
  std::vector<std::string> arguments = program.arguments;
  for (std::size_t i = 1; i < arguments.size(); ++i)
    arguments[i] = replaced(replaced(arguments[i], "{rank}", rank), "{size}", size);
  return arguments;
}

// Rank 0 may inherit our input; the others read an empty file.
bool take_input(const MemberProgram& program, std::size_t rank) {
  if (rank == 0 && program.has_input) return true;
  const exs::UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return ::dup2(nothing.get(), STDIN_FILENO) == STDIN_FILENO;
}

void execute(const MemberProgram& program, std::size_t rank, int boot) {
  const std::string own = std::to_string(rank);
  const std::string size = std::to_string(program.size);
  ::setenv("EXM_BOOT_FD", std::to_string(boot).c_str(), 1);
  ::setenv("EXM_RANK", own.c_str(), 1);
  ::setenv("EXM_SIZE", size.c_str(), 1);
  std::vector<std::string> arguments = arguments_of(program, own, size);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.path.c_str(), pointers.data());
}

// Runs in the child, which has no other thread.
[[noreturn]] void become(const MemberProgram& program, std::size_t rank, const Signals& signals,
                         pid_t launcher, int boot, int out, int error) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // the launcher ended before the prctl()
  const bool is_ready = take_input(program, rank) && ::dup2(out, STDOUT_FILENO) >= 0 &&
                        ::dup2(error, STDERR_FILENO) >= 0 && ::fcntl(boot, F_SETFD, 0) == 0 &&
                        ::setrlimit(RLIMIT_NOFILE, &program.descriptors) == 0;
  signals.restore();
  if (is_ready) execute(program, rank, boot);
  ::dprintf(boot, "unexecuted %d\n", errno);
  ::_exit(kCannotExecute);
}

}  // namespace

Member start_member(const MemberProgram& program, std::size_t rank, const Signals& signals) {
  Ends boot = make_socketpair();
  Ends out = make_pipe();
  Ends error = make_pipe();
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) tools::fail("cannot start all processes", errno);
  if (pid == 0)
    become(program, rank, signals, launcher, boot.theirs.get(), out.theirs.get(), error.theirs.get());
  const std::string tag = program.is_tagged ? "[" + std::to_string(rank) + "] " : "";
  return {rank, pid, Channel(std::move(boot.ours)), LinePipe(Stream::kOut, std::move(out.ours), tag),
          LinePipe(Stream::kError, std::move(error.ours), tag)};
}

}  // namespace run
