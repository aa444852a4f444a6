// Whether this process may use an io_uring, and who says no.
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

// As the library does it, and one call into the ring: a filter may allow the one and not the other.
int use_ring() {
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  const long ring = ::syscall(__NR_io_uring_setup, 4, &parameters);
  if (ring < 0) return errno;
  if (::syscall(__NR_io_uring_enter, ring, 0, 0, IORING_ENTER_GETEVENTS, nullptr, 0) < 0) return errno;
  return 0;
}

std::string who_refuses(const Trial& trial, std::int64_t disabled) {
  if (trial.signal != 0) return "a seccomp filter";
  if (trial.error == EPERM && disabled > 0)
    return tools::text("kernel.io_uring_disabled=%lld", static_cast<long long>(disabled));
  if (trial.error == EINVAL) return "Linux 6.1 or newer is needed";
  if (is_filtered()) return "probably the seccomp filter";
  return trial.error == ENOSYS ? "this kernel has none" : "the kernel, or a security module";
}

}  // namespace

Fact look_at_io_uring() {
  const Trial trial = try_out(use_ring);
  const auto disabled = first_number(kSysctl);
  Fact fact("io_uring");
  fact.concerns = {"iwarp"};
  fact.values = {{"allowed", trial.worked()}, {"disabled_sysctl", disabled}};
  if (trial.worked()) {
    fact.text = "io_uring_setup and io_uring_enter work";
    return fact;
  }
  fact.verdict = Verdict::limited;
  fact.reason = exs::ReasonCode::kNoIoUring;
  fact.text = "io_uring: " + trial.words() + " (" + who_refuses(trial, disabled.value_or(0)) +
              "); iwarp goes on with epoll";
  return fact;
}

}  // namespace explain
