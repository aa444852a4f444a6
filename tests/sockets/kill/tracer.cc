// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/kill/tracer.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "tests/sockets/kill/actor.h"

namespace killing {
namespace {

constexpr int kCallStop = SIGTRAP | 0x80;
constexpr unsigned kEventShift = 16;

// Memory that a process shares with its peer, and with its family.
class SharedMemory {
 public:
  SharedMemory(pid_t process, bool family) : process_(process), family_(family) {}

  // Finds its place again: system calls may move it.
  void find() {
    parts_.clear();
    const std::string path = "/proc/" + std::to_string(process_) + "/maps";
    std::FILE* const maps = std::fopen(path.c_str(), "re");
    if (maps == nullptr) return;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
      const char* const name = std::strstr(line, "/memfd:exs-sockets");
      if (name == nullptr || (std::strstr(name, "-family") != nullptr && !family_)) continue;
      unsigned long begin = 0;
      if (std::sscanf(line, "%lx-", &begin) == 1) parts_.push_back({reinterpret_cast<void*>(begin), kPage});
    }
    std::fclose(maps);
  }
  // The memory differs from its state at the last question.
  bool has_changed() {
    std::vector<char> now(parts_.size() * kPage);
    const iovec into = {now.data(), now.size()};
    if (!parts_.empty() && process_vm_readv(process_, &into, 1, parts_.data(), parts_.size(), 0) < 0)
      return false;
    const bool changed = now != bytes_;
    bytes_.swap(now);
    return changed;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  pid_t process_;
  bool family_;
  std::vector<iovec> parts_;
  std::vector<char> bytes_;
};

}  // namespace

Tracer::Tracer(pid_t process) : process_(process) {
  constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
  if (ptrace(PTRACE_SEIZE, process, nullptr, kOptions) != 0)
    throw std::system_error(errno, std::generic_category(), "ptrace");
}

bool Tracer::await_step() {
  int status = 0;
  return waitpid(process_, &status, 0) == process_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
}

Tracer::Stop Tracer::go_on(int request) {
  int signal = 0;
  for (;;) {
    if (ptrace(static_cast<__ptrace_request>(request), process_, nullptr, signal) != 0) return Stop::kGone;
    int status = 0;
    if (waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) return Stop::kGone;
    signal = 0;
    if (WSTOPSIG(status) == kCallStop) return is_at_end() ? Stop::kEnd : Stop::kCall;
    if (static_cast<unsigned>(status) >> kEventShift != 0) continue;  // it has become another program
    if (WSTOPSIG(status) == SIGTRAP) return Stop::kInstruction;
    signal = WSTOPSIG(status);
  }
}

// The actor writes its answer, which ends the step.
bool Tracer::is_at_end() const {
  __ptrace_syscall_info info = {};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, process_, sizeof info, &info) <= 0) return false;
  return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_write && info.entry.args[0] == kControl;
}

// A system call may sleep, so it cannot be single-stepped.
bool Tracer::is_before_call() const {
  __ptrace_syscall_info info = {};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, process_, sizeof info, &info) <= 0) return false;
  errno = 0;
  const auto word =
      static_cast<std::uint64_t>(ptrace(PTRACE_PEEKTEXT, process_, info.instruction_pointer, nullptr));
#if defined(__x86_64__)
  return errno == 0 && (word & 0xffff) == 0x050f;
#else
  return errno == 0 && (word & 0xffffffff) == 0xd4000001;
#endif
}

bool Tracer::run_to(Place place) {
  if (ended_) return false;
  for (std::uint32_t i = 0; i < place.calls; ++i) {
    const Stop stop = go_on(PTRACE_SYSCALL);
    ended_ = stop == Stop::kEnd || stop == Stop::kGone;
    if (ended_) return false;
  }
  for (std::uint32_t i = 0; i < place.instructions && !is_before_call(); ++i)
    if (go_on(PTRACE_SINGLESTEP) != Stop::kInstruction) break;
  return true;
}

std::vector<Place> Tracer::find_changes(bool family, std::uint32_t& instructions) {
  std::vector<Place> changes;
  SharedMemory memory(process_, family);
  memory.find();
  memory.has_changed();
  Place at;
  instructions = 0;
  for (;;) {
    if (is_before_call()) {
      for (int half = 0; half < 2; ++half) {
        const Stop stop = go_on(PTRACE_SYSCALL);
        ended_ = stop == Stop::kEnd || stop == Stop::kGone;
        if (ended_) return changes;
        ++at.calls;
      }
      at.instructions = 0;
      memory.find();
      memory.has_changed();
      continue;
    }
    if (go_on(PTRACE_SINGLESTEP) != Stop::kInstruction) return changes;
    ++at.instructions;
    ++instructions;
    if (memory.has_changed()) changes.push_back(at);
  }
}

void Tracer::release() {
  ptrace(PTRACE_DETACH, process_, nullptr, nullptr);
}

}  // namespace killing
