// The settings of the same-host provider, from the environment or from a test.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

namespace exs::shm {

// The users with which this process shares memory. EXS_SHM_USERS is a list with commas: "same" (this
// process's effective user; also the default), "any", or user IDs.
// Thread: immutable value.
struct AllowedUsers {
  bool same = true;
  bool any = false;
  std::vector<uid_t> uids;

  [[nodiscard]] bool allow(uid_t peer, uid_t ours) const;
  // Nothing: not such a list.
  static std::optional<AllowedUsers> parse(std::string_view text);
};

// Thread: immutable value.
struct Settings {
  AllowedUsers users;
  bool process_vm = true;  // EXS_SHM_PROCESS_VM=0: never reads or writes the peer's memory by system call
};

Settings settings_from_environment();

}  // namespace exs::shm
