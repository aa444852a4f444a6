// What this machine and the limits of this process allow exs to do. Each check tries the system call if possible: a kernel or a sandbox
// may allow something else than it reports.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tools/explain/check_result.h"

namespace explain {

// Trials fork: call before any thread exists.
std::vector<CheckResult> check_machine();

CheckResult check_host();
CheckResult check_user();
CheckResult check_namespace(const char* kind, const char* name);
CheckResult check_descriptors();
CheckResult check_seccomp();
CheckResult check_io_uring();
CheckResult check_ptrace_scope();
CheckResult check_process_vm();
CheckResult check_memfd();
CheckResult check_tcp_sockets();
CheckResult check_unix_sockets();
CheckResult check_dev_shm();
CheckResult check_memlock();
CheckResult check_rdma();

}  // namespace explain
