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

Fact look_at_host() {
  utsname kernel{};
  ::uname(&kernel);
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id").value_or("unknown");
  const unsigned processors = std::thread::hardware_concurrency();
  Fact fact("host");
  fact.text = tools::text("%s %s on %s, %u processors, boot id %s", kernel.sysname, kernel.release,
                          kernel.machine, processors, boot.c_str());
  fact.values = {{"kernel", kernel.release}, {"boot_id", boot}, {"processors", processors}};
  return fact;
}

Fact look_at_user() {
  Fact fact("user");
  fact.text = tools::text("user %u, effective %u: a peer on this host must be the same for shm", ::getuid(),
                          ::geteuid());
  fact.concerns = {"shm"};
  fact.values = {{"user_id", ::getuid()}, {"effective_user_id", ::geteuid()}};
  return fact;
}

Fact look_at_namespace(const char* kind, const char* name) {
  Fact fact(name);
  const std::uint64_t inode = namespace_inode(kind);
  fact.text = tools::text("%s:[%llu]", kind, static_cast<unsigned long long>(inode));
  fact.concerns = {"shm"};
  fact.values = {{"inode", inode}};
  return fact;
}

Fact look_at_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Fact fact("descriptors");
  fact.text = tools::text("%llu, at most %llu (ulimit -n, -Hn); a connection takes one",
                          static_cast<unsigned long long>(limit.rlim_cur),
                          static_cast<unsigned long long>(limit.rlim_max));
  fact.concerns = {"iwarp", "shm"};
  fact.values = {{"soft_limit", limit.rlim_cur}, {"hard_limit", limit.rlim_max}};
  if (limit.rlim_cur < kDescriptorsFew) {
    fact.verdict = Verdict::limited;
    fact.reason = exs::ReasonCode::kNoDescriptors;
  }
  return fact;
}

std::vector<Fact> look_at_machine() {
  return {look_at_host(),
          look_at_user(),
          look_at_namespace("net", "network_namespace"),
          look_at_namespace("pid", "pid_namespace"),
          look_at_descriptors(),
          look_at_seccomp(),
          look_at_io_uring(),
          look_at_tcp_sockets(),
          look_at_unix_sockets(),
          look_at_memfd(),
          look_at_dev_shm(),
          look_at_ptrace_scope(),
          look_at_process_vm(),
          look_at_memlock(),
          look_at_rdma()};
}

}  // namespace explain
