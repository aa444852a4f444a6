// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/lookup_log.h"

#include <unistd.h>

#include <exception>
#include <string_view>

#include "base/kernel.h"
#include "service/names/setting.h"

namespace exs::svc {

bool are_lookups_logged() noexcept {
  static const bool are_told = [] {
    const char* const level = setting("EXS_LOG");
    return level != nullptr && std::string_view(level) == "debug";
  }();
  return are_told;
}

void log_lookup(const std::string& line) noexcept try {
  const std::string whole = "exs-service: " + line + "\n";
  kernel::write_at_once(STDERR_FILENO, whole.data(), whole.size());
} catch (const std::exception&) {  // no memory for the line
}

}  // namespace exs::svc
