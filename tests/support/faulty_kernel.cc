// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/faulty_kernel.h"

#include <sys/epoll.h>

#include <cerrno>
#include <string_view>
#include <type_traits>

namespace exs::test {
namespace {

std::atomic<FaultPlan*> followed{nullptr};

struct Fault {
  std::string_view call;
  int error = 0;
  bool is_done_nevertheless = false;  // the call is made, and then reported as failed
};

// The errno of each call when the machine runs out of a resource or a peer ends. Calls that are not listed
// cannot fail with the library's arguments (writing to an eventfd, setting a timer, asking for a descriptor's
// own name), or fail permanently (getrandom).
constexpr Fault kFaults[] = {
    {"socket", EMFILE},
    {"bind", EADDRINUSE},
    {"listen", EADDRINUSE},
    {"connect", ENETUNREACH},
    {"accept4", EMFILE},
    {"shutdown", ENOTCONN},
    {"getsockname", ENOBUFS},
    {"getpeername", ENOTCONN},
    {"getsockopt", ENOBUFS},
    {"setsockopt", ENOBUFS},
    {"send", ECONNRESET},
    {"recv", ECONNRESET},
    {"sendmsg", ECONNRESET},
    {"recvmsg", ECONNRESET},
    {"open", EMFILE},
    {"close", EIO, true},
    {"read", EIO},
    {"pread", EIO},
    {"dup3", EMFILE},
    {"fcntl", EMFILE},
    {"stat", EACCES},
    {"fstat", EACCES},
    {"fstatfs", EACCES},
    {"readlink", EACCES},
    {"eventfd", EMFILE},
    {"memfd_create", EMFILE},
    {"ftruncate", ENOMEM},
    {"epoll_create1", EMFILE},
    {"epoll_ctl", ENOSPC},
    {"epoll_wait", EINTR},
    {"poll", EINTR},
    {"ppoll", EINTR},
    {"timerfd_create", EMFILE},
    {"nanosleep", EINTR},
    {"mmap", ENOMEM},
    {"madvise", EINVAL},
    {"process_vm_readv", EPERM},
    {"process_vm_writev", EPERM},
    {"pidfd_open", EMFILE},
    {"getifaddrs", ENOMEM},
};

const Fault* fault_of(std::string_view call) {
  for (const Fault& fault : kFaults) {
    if (fault.call == call) return &fault;
  }
  return nullptr;
}

// The fault of the call that must fail now; null: it must not fail.
const Fault* due_fault(const char* call) {
  FaultPlan* const plan = followed.load();
  if (plan == nullptr || !plan->counts) return nullptr;
  const Fault* const fault = fault_of(call);
  if (fault == nullptr || plan->calls.fetch_add(1) != plan->fails_at) return nullptr;
  plan->failed = fault->call.data();
  return fault;
}

template <typename Call, typename... Arguments>
auto call_or_fail(const char* name, Call call, const Arguments&...) {
  using Value = std::invoke_result_t<Call>;
  const Fault* const fault = due_fault(name);
  if (fault == nullptr) return call();
  if (fault->is_done_nevertheless) call();
  errno = fault->error;
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<Value>(std::intptr_t{-1});  // MAP_FAILED
  } else {
    return static_cast<Value>(-1);
  }
}

// Only adding to an epoll set needs memory and can fail.
template <typename Call>
int call_or_fail(const char* name, Call call, int /*set*/, int command, int /*descriptor*/,
                 epoll_event* /*event*/) {
  return command == EPOLL_CTL_ADD ? call_or_fail(name, call) : call();
}

}  // namespace

void follow(FaultPlan* plan) {
  followed = plan;
}

}  // namespace exs::test

// NOLINTNEXTLINE(bugprone-macro-parentheses): arguments, as they are
#define EXS_KERNEL_CALL(name, ...) \
  exs::test::call_or_fail(__func__, [&] { return ::name(__VA_ARGS__); } __VA_OPT__(, ) __VA_ARGS__)
#include "base/kernel.cc"  // NOLINT(bugprone-suspicious-include)
