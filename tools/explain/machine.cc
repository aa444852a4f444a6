// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/machine.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <thread>

#include "tools/common/units.h"
#include "tools/explain/kernel.h"

namespace explain {
namespace {

constexpr std::uint64_t kDescriptorsFew = 1024;

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::limited: return "limited";
    case Verdict::missing: return "missing";
  }
  return "unknown";
}

CheckResult check_host() {
  utsname kernel{};
  ::uname(&kernel);
  const std::string boot = read_first_line("/proc/sys/kernel/random/boot_id").value_or("unknown");
  const unsigned processors = std::thread::hardware_concurrency();
  CheckResult result("host");
  result.text = tools::format("%s %s on %s, %u processors, boot id %s", kernel.sysname, kernel.release,
                              kernel.machine, processors, boot.c_str());
  result.values = {{"kernel", kernel.release}, {"boot_id", boot}, {"processors", processors}};
  return result;
}

CheckResult check_user() {
  CheckResult result("user");
  result.text = tools::format("user %u, effective %u: a peer on this host must be the same for shm",
                              ::getuid(), ::geteuid());
  result.concerns = {"shm"};
  result.values = {{"user_id", ::getuid()}, {"effective_user_id", ::geteuid()}};
  return result;
}

CheckResult check_namespace(const char* kind, const char* name) {
  CheckResult result(name);
  const std::uint64_t inode = namespace_inode(kind);
  result.text = tools::format("%s:[%llu]", kind, static_cast<unsigned long long>(inode));
  result.concerns = {"shm"};
  result.values = {{"inode", inode}};
  return result;
}

CheckResult check_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  CheckResult result("descriptors");
  result.text = tools::format("%llu, at most %llu (ulimit -n, -Hn); a connection takes one",
                              static_cast<unsigned long long>(limit.rlim_cur),
                              static_cast<unsigned long long>(limit.rlim_max));
  result.concerns = {"iwarp", "shm"};
  result.values = {{"soft_limit", limit.rlim_cur}, {"hard_limit", limit.rlim_max}};
  if (limit.rlim_cur < kDescriptorsFew) {
    result.verdict = Verdict::limited;
    result.reason = exs::ReasonCode::kNoDescriptors;
  }
  return result;
}

std::vector<CheckResult> check_machine() {
  return {check_host(),
          check_user(),
          check_namespace("net", "network_namespace"),
          check_namespace("pid", "pid_namespace"),
          check_descriptors(),
          check_seccomp(),
          check_io_uring(),
          check_tcp_sockets(),
          check_unix_sockets(),
          check_memfd(),
          check_dev_shm(),
          check_ptrace_scope(),
          check_process_vm(),
          check_memlock(),
#ifndef EXS_WITHOUT_VERBS
          check_rdma()
#endif
  };
}

}  // namespace explain
