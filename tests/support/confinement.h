// Functions that permanently take rights from the calling process, as sandboxes and administrators do. Each
// returns whether it succeeded; some need root.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace exs::test {

// Installs a seccomp filter: these system calls fail with `error`, or kill the process when that is 0. If
// `argument` is not negative, only calls with that value at position `place` do (socket(AF_UNIX) for
// instance).
inline bool deny_system_calls(std::initializer_list<long> numbers, int error, long argument = -1,
                              std::size_t place = 0) {
  const std::uint32_t verdict =
      error == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
  std::vector<sock_filter> program;
  const auto load = [&](std::size_t offset) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  };
  for (const long number : numbers) {
    load(offsetof(seccomp_data, nr));
    const auto skip = static_cast<std::uint8_t>(argument < 0 ? 1 : 3);
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, skip));
    if (argument >= 0) {
      load(offsetof(seccomp_data, args) + place * sizeof(std::uint64_t));  // low half, little-endian
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(argument), 0, 1));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Linux has SO_PEERPIDFD since 6.5.
inline bool deny_peer_pidfd() {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD
  return deny_system_calls({SYS_getsockopt}, ENOPROTOOPT, kPeerPidfd, 2);
}

// `resource` is RLIMIT_*. Sets the soft and the hard limit.
inline bool lower_limit(int resource, rlim_t limit) {
  const rlimit both{limit, limit};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

// Memory that is mapped from now on stays in memory, up to RLIMIT_MEMLOCK. By itself, as a sanitizer's mlockall does nothing.
inline bool lock_later_memory() {
  return ::syscall(SYS_mlockall, MCL_FUTURE) == 0;
}

// Needs root, and gives it up.
inline bool become_user(uid_t user) {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
         ::setresuid(user, user, user) == 0 && ::prctl(PR_SET_DUMPABLE, 1) == 0;
}

// `kinds` are CLONE_NEW*. Needs root. With CLONE_NEWPID the next child is the first process of the new
// namespace.
inline bool enter_new_namespace(int kinds) {
  return ::unshare(kinds) == 0;
}

}  // namespace exs::test
