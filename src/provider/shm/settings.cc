// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/environment.h"

namespace exs::shm {

bool AllowedUsers::allow(uid_t peer, uid_t ours) const {
  if (any || (same && peer == ours)) return true;
  return std::find(uids.begin(), uids.end(), peer) != uids.end();
}

std::optional<AllowedUsers> AllowedUsers::parse(std::string_view text) {
  AllowedUsers users;
  users.same = false;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    if (name == "same") {
      users.same = true;
    } else if (name == "any") {
      users.any = true;
    } else {
      uid_t uid = 0;
      const char* const end = name.data() + name.size();
      const auto parsed = std::from_chars(name.data(), end, uid);
      if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
      users.uids.push_back(uid);
    }
    if (comma == text.size()) return users;
    text.remove_prefix(comma + 1);
  }
}

Settings settings_from_environment() {
  Settings settings;
  if (const char* const users = unless_empty(std::getenv("EXS_SHM_USERS")))
    settings.users = AllowedUsers::parse(users).value_or(AllowedUsers());
  settings.process_vm = switch_from_environment("EXS_SHM_PROCESS_VM", true);
  return settings;
}

}  // namespace exs::shm
