// How a process gives up rights, or gets others.
// SPDX-License-Identifier: BSD-2-Clause
#include <sched.h>
#include <unistd.h>

#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/process/retire.h"
#include "sockets/preload/process/rights.h"
#include "sockets/preload/symbols/export.h"

// The C library declares it in no header.
extern "C" int capset(void* header, const void* data) noexcept;

namespace exs::sockets {
namespace {

constexpr auto kSame = static_cast<unsigned>(-1);

// One of the IDs would change.
template <typename... Wishes>
bool changes(const unsigned (&ids)[3], Wishes... wishes) noexcept {
  const unsigned wished[] = {wishes...};
  for (std::size_t i = 0; i < sizeof...(wishes); ++i)
    if (wished[i] != kSame && wished[i] != ids[i]) return true;
  return false;
}

template <typename... Values>
int change(const char* name, bool is_change, Values... values) noexcept {
  if (is_change) leave_family();
  const auto next = find_function<int (*)(Values...)>(name);
  const int result = next(values...);
  remember_ids();
  return result;
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT int setuid(uid_t id) noexcept {
  return change("setuid", changes(ids_now().users, id, id, id), id);
}
EXS_EXPORT int setgid(gid_t id) noexcept {
  return change("setgid", changes(ids_now().groups, id, id, id), id);
}
EXS_EXPORT int seteuid(uid_t id) noexcept {
  return change("seteuid", changes(ids_now().users, kSame, id), id);
}
EXS_EXPORT int setegid(gid_t id) noexcept {
  return change("setegid", changes(ids_now().groups, kSame, id), id);
}
EXS_EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  return change("setreuid", changes(ids_now().users, real, effective), real, effective);
}
EXS_EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  return change("setregid", changes(ids_now().groups, real, effective), real, effective);
}
EXS_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return change("setresuid", changes(ids_now().users, real, effective, saved), real, effective, saved);
}
EXS_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return change("setresgid", changes(ids_now().groups, real, effective, saved), real, effective, saved);
}
EXS_EXPORT int capset(void* header, const void* data) noexcept {
  return change("capset", true, header, data);
}
EXS_EXPORT int unshare(int flags) noexcept {
  constexpr int kNotRights = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
  // Each thread may give a number its own meaning from now on.
  if ((flags & CLONE_FILES) != 0) retire(Why::kUnseen);
  return change("unshare", (flags & ~kNotRights) != 0, flags);
}
EXS_EXPORT int setns(int descriptor, int kind) noexcept {
  return change("setns", true, descriptor, kind);
}
