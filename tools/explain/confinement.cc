// Access to the memory of this process by others, and the other way round.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "tools/common/failure.h"
#include "tools/common/units.h"
#include "tools/explain/kernel.h"
#include "tools/explain/machine.h"

namespace explain {
namespace {

constexpr std::uint64_t kWord = 0x6578'732d'6578'706c;
// Has the same address in parent and child.
std::uint64_t shared_word = 0;

int read_word_of(pid_t process) {
  std::uint64_t found = 0;
  const iovec here{&found, sizeof found};
  const iovec there{&shared_word, sizeof shared_word};
  if (::process_vm_readv(process, &here, 1, &there, 1, 0) != sizeof found) return errno;
  return found == kWord ? 0 : EIO;
}

// A child that does nothing, as long as this object lives.
class IdleChild {
 public:
  IdleChild() : pid_(::fork()) {
    if (pid_ == -1) tools::fail("cannot fork", errno);
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~IdleChild() {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) == -1 && errno == EINTR) {
    }
  }
  IdleChild(const IdleChild&) = delete;
  IdleChild& operator=(const IdleChild&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

const char* meaning_of(std::int64_t scope) {
  switch (scope) {
    case 0: return "processes of one user may read each other";
    case 1: return "a process may read its own children, and who allows it";
    case 2: return "only CAP_SYS_PTRACE reads others";
    default: return "nobody reads others until the next boot";
  }
}

}  // namespace

CheckResult check_seccomp() {
  CheckResult result("seccomp");
  const bool filtered = is_filtered();
  const std::string filters = read_own_status("Seccomp_filters");
  result.text = filtered ? tools::format("%s filters in force: system calls may be refused",
                                         filters.empty() ? "some" : filters.c_str())
                         : "no filter in force";
  result.values = {{"filtered", filtered}, {"no_new_privileges", read_own_status("NoNewPrivs") == "1"}};
  return result;
}

CheckResult check_ptrace_scope() {
  CheckResult result("ptrace_scope");
  const auto scope = read_first_number("/proc/sys/kernel/yama/ptrace_scope");
  const bool dumpable = ::prctl(PR_GET_DUMPABLE) == 1;
  result.concerns = {"shm"};
  result.text = scope ? tools::format("kernel.yama.ptrace_scope=%lld: %s", static_cast<long long>(*scope),
                                      meaning_of(*scope))
                      : std::string("no yama: ") + meaning_of(0);
  if (!dumpable) result.text += "; this process is not dumpable, others of its user may not read it";
  result.values = {{"yama_scope", scope}, {"dumpable", dumpable}};
  return result;
}

// A child that reads its parent stands for any process of the same user; yama allows more the other way round.
CheckResult check_process_vm() {
  shared_word = kWord;
  const pid_t self = ::getpid();
  const Trial of_other = try_in_child([self] { return read_word_of(self); });
  const IdleChild child;
  const Trial of_child = try_in_child([] { return read_word_of(::getpid()); });
  CheckResult result("process_vm_readv");
  result.concerns = {"shm"};
  // A seccomp filter that kills would kill this process too, so only what the child survived is tried here.
  const int error = of_child.worked() ? read_word_of(child.pid()) : of_child.error;
  result.values = {{"other_process", of_other.worked()}, {"child_process", of_child.worked() && error == 0}};
  if (of_other.worked()) {
    result.text = "processes of this user read each other";
    return result;
  }
  result.verdict = Verdict::limited;
  result.reason = exs::ReasonCode::kNoPtrace;
  result.text = "process_vm_readv of another process: " + of_other.description() +
                "; data are copied through the rings";
  return result;
}

}  // namespace explain
