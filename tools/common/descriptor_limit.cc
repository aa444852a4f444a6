// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/descriptor_limit.h"

#include <sys/resource.h>

#include <cerrno>

#include "tools/common/failure.h"

namespace tools {

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("getrlimit", errno);
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("cannot raise the limit of descriptors", errno);
  return limit.rlim_cur;
}

}  // namespace tools
