// exs_getlimits.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/kernel.h"
#include "src/api/api_call.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

std::uint64_t sockets_max() {
  rlimit files{};
  if (kernel::getrlimit(RLIMIT_NOFILE, &files) != 0) return DescriptorTable::kNumbersMax;
  return std::min<std::uint64_t>(files.rlim_cur, DescriptorTable::kNumbersMax);
}

exs_limits_t limits() {
  exs_limits_t limits{};
  limits.sockets_max = sockets_max();
  limits.queues_max = HandleTable<EventQueue>::kMost;
  limits.queue_depth_max = EXS_QDEPTH_MAX;
  limits.regions_max = HandleTable<Region>::kMost;
  limits.message_bytes_max = SSIZE_MAX;
  limits.small_bytes_max = EXS_SMALL_MAX;
  limits.iov_max = EXS_IOV_MAX;
  limits.operations_max = EXS_OPS_MAX;
  limits.credits_max = EXS_CREDITS_MAX;
  const std::string_view names = provider_names();
  std::memcpy(limits.providers, names.data(), std::min(names.size(), sizeof limits.providers - 1));
  return limits;
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_getlimits(exs_limits_t* into) {
  return api_call([&](Library&) -> Result<int> {
    if (into == nullptr) return failure(null_argument());
    if (into->struct_bytes < offsetof(exs_limits_t, queues_max))
      return failure(wrong_size(into->struct_bytes, sizeof *into));  // struct_bytes and one limit
    exs_limits_t found = limits();
    found.struct_bytes = std::min(into->struct_bytes, sizeof found);
    std::memcpy(into, &found, found.struct_bytes);
    return 0;
  });
}
