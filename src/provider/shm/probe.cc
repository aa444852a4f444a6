// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/probe.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "base/lazy.h"

namespace exs::shm {
namespace {

// Peers write to `scratch` from their processes; nothing here reads it.
struct ProbeTarget {
  Result<RandomId> nonce = random_id();
  std::uint64_t scratch = 0;
};

constinit Lazy<ProbeTarget> target_of_peers;

// -1: no Yama in this kernel.
int yama_scope() {
  const UniqueFd file(kernel::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char digit = 0;
  if (!file.valid() || kernel::read(file.get(), &digit, 1) != 1) return -1;
  return digit - '0';
}

void* remote(std::uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): of another process
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

Reason refused(const char* call, int error) {
  const int scope = error == EPERM ? yama_scope() : -1;
  if (scope >= 0) {
    return Reason::make(ReasonCode::kNoPtrace, "%s: %s (kernel.yama.ptrace_scope is %d)", call,
                        std::strerror(error), scope);
  }
  return Reason::make(ReasonCode::kNoPtrace, "%s: %s", call, std::strerror(error));
}

}  // namespace

Status offer_probe(ControlPacket& greeting) {
  ProbeTarget& target = target_of_peers.get();
  if (!target.nonce) return target.nonce.error();
  greeting.id = *target.nonce;
  greeting.nonce_address = reinterpret_cast<std::uintptr_t>(target.nonce->data());
  greeting.scratch_address = reinterpret_cast<std::uintptr_t>(&target.scratch);
  return {};
}

bool probe_memory(pid_t peer, const ControlPacket& greeting, Reason& why_not) {
  if (peer == 0) {
    why_not =
        Reason::make(ReasonCode::kOtherPidns, "the peer's process id is not visible in this PID namespace");
    return false;
  }
  RandomId seen{};
  iovec here{seen.data(), seen.size()};
  iovec there{remote(greeting.nonce_address), seen.size()};
  if (kernel::process_vm_readv(peer, &here, 1, &there, 1, 0) != static_cast<ssize_t>(seen.size())) {
    why_not = refused("process_vm_readv", errno);
    return false;
  }
  if (seen != greeting.id) {
    why_not = Reason::make(ReasonCode::kNoPtrace, "process %d has not the memory that the peer named",
                           static_cast<int>(peer));
    return false;
  }
  std::uint64_t mark = 0;
  here = {&mark, sizeof mark};
  there = {remote(greeting.scratch_address), sizeof mark};
  if (kernel::process_vm_writev(peer, &here, 1, &there, 1, 0) != static_cast<ssize_t>(sizeof mark)) {
    why_not = refused("process_vm_writev", errno);
    return false;
  }
  return true;
}

}  // namespace exs::shm
