// Whether this process may use io_uring, and the reason if not.
// SPDX-License-Identifier: BSD-2-Clause
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tools/common/units.h"
#include "tools/explain/kernel.h"
#include "tools/explain/machine.h"

namespace explain {
namespace {

constexpr const char* kSysctl = "/proc/sys/kernel/io_uring_disabled";

// Sets the ring up as the library does and enters it once: a filter may allow one call and not the other.
int use_ring() {
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  const long ring = ::syscall(__NR_io_uring_setup, 4, &parameters);
  if (ring < 0) return errno;
  if (::syscall(__NR_io_uring_enter, ring, 0, 0, IORING_ENTER_GETEVENTS, nullptr, 0) < 0) return errno;
  return 0;
}

std::string cause_of_refusal(const Trial& trial, std::int64_t disabled) {
  if (trial.signal != 0) return "a seccomp filter";
  if (trial.error == EPERM && disabled > 0)
    return tools::format("kernel.io_uring_disabled=%lld", static_cast<long long>(disabled));
  if (trial.error == EINVAL) return "Linux 6.1 or newer is needed";
  if (is_filtered()) return "probably the seccomp filter";
  return trial.error == ENOSYS ? "this kernel has none" : "the kernel, or a security module";
}

}  // namespace

CheckResult check_io_uring() {
  const Trial trial = try_in_child(use_ring);
  const auto disabled = read_first_number(kSysctl);
  CheckResult result("io_uring");
  result.concerns = {"iwarp"};
  result.values = {{"allowed", trial.worked()}, {"disabled_sysctl", disabled}};
  if (trial.worked()) {
    result.text = "io_uring_setup and io_uring_enter work";
    return result;
  }
  result.verdict = Verdict::limited;
  result.reason = exs::ReasonCode::kNoIoUring;
  result.text = "io_uring: " + trial.description() + " (" + cause_of_refusal(trial, disabled.value_or(0)) +
                "); iwarp goes on with epoll";
  return result;
}

}  // namespace explain
