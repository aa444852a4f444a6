// The reasons against RDMA on this machine, in words for users.
// SPDX-License-Identifier: BSD-2-Clause
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/kernel.h"
#include "src/provider/verbs/survey.h"

namespace exs::verbs {
namespace {

// The kernel asks for the capability in the first user namespace, where the root of a container has none.
bool is_first_user_namespace() {
  std::ifstream file("/proc/self/uid_map");
  std::uint64_t inside = 1;
  std::uint64_t outside = 1;
  std::uint64_t count = 0;
  return !(file >> inside >> outside >> count) || (inside == 0 && outside == 0 && count == UINT32_MAX);
}

bool may_lock_memory() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  return kernel::capget(&head, sets) == 0 &&
         (sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0 &&
         is_first_user_namespace();
}

rlim_t memory_limit_bytes() {
  rlimit limit{};
  return kernel::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

Reason down(const SurveyedDevice& device) {
  for (const DevicePort& port : device.ports) {
    for (const Interface& interface : port.interfaces) {
      if (interface.is_up) continue;
      return Reason::make(ReasonCode::kPortDown, "%s port %u is %s: ip link set %s up", device.name.c_str(),
                          port.number, port.state.c_str(), interface.name.c_str());
    }
  }
  if (device.ports.empty()) return Reason::make(ReasonCode::kPortDown, "%s has no port", device.name.c_str());
  const DevicePort& port = device.ports.front();
  return Reason::make(ReasonCode::kPortDown, "%s port %u is %s (%s)", device.name.c_str(), port.number,
                      port.state.c_str(), port.physical_state.c_str());
}

}  // namespace

Reason why_not(const SurveyedDevice& device) {
  if (device.file.empty()) {
    return Reason::make(ReasonCode::kNoAccess, "%s: the kernel shows no file that opens it (ib_uverbs)",
                        device.name.c_str());
  }
  if (device.file_error != 0) {
    return Reason::make(ReasonCode::kNoAccess, "%s: %s: %s", device.name.c_str(), device.file.c_str(),
                        std::strerror(device.file_error));
  }
  return device.is_active() ? Reason() : down(device);
}

Reason Survey::why_not() const {
  if (devices_.empty()) return Reason::make(ReasonCode::kNoDevice, "no RDMA device on this machine");
  Reason first;
  for (const SurveyedDevice& device : devices_) {
    const Reason reason = verbs::why_not(device);
    if (reason.code == ReasonCode::kNone) return reason;
    if (first.code == ReasonCode::kNone) first = reason;
  }
  return first;
}

bool is_memory_limited() noexcept {
  return memory_limit_bytes() != RLIM_INFINITY && !may_lock_memory();
}

Reason why_not_pinned(std::uint64_t bytes) {
  const rlim_t limit = memory_limit_bytes();
  // Some drivers (siw) count what the capability should let through.
  if (limit == RLIM_INFINITY || (limit >= bytes && may_lock_memory())) {
    return Reason::make(ReasonCode::kFailed, "pinning %llu bytes: %s", static_cast<unsigned long long>(bytes),
                        std::strerror(ENOMEM));
  }
  return Reason::make(ReasonCode::kMemlock, "pinning %llu bytes more: the limit is %llu KiB (ulimit -l)",
                      static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limit >> 10));
}

}  // namespace exs::verbs
