// What this machine, and the limits of this process on it, allow exs to do. Each is found out by trying where
// that is possible: what a kernel or a sandbox says is one thing, what it lets happen another.
#pragma once

#include <vector>

#include "tools/explain/fact.h"

namespace explain {

// Before any thread: trials fork.
std::vector<Fact> look_at_machine();

Fact look_at_host();
Fact look_at_user();
Fact look_at_namespace(const char* kind, const char* name);
Fact look_at_descriptors();
Fact look_at_seccomp();
Fact look_at_io_uring();
Fact look_at_ptrace_scope();
Fact look_at_process_vm();
Fact look_at_memfd();
Fact look_at_tcp_sockets();
Fact look_at_unix_sockets();
Fact look_at_dev_shm();
Fact look_at_memlock();
Fact look_at_rdma();

}  // namespace explain
