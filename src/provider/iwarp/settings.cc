// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/settings.h"

#include <cstdlib>

#include "base/environment.h"

namespace exs::iwarp {

BackendChoice backend_named(std::string_view name) {
  if (name.empty()) return BackendChoice::kAutomatic;
  if (name == "epoll") return BackendChoice::kEpoll;
  if (name == "io_uring") return BackendChoice::kUring;
  return BackendChoice::kUnknown;
}

Settings settings_from_environment() {
  Settings settings;
  settings.want_crc = switch_from_environment("EXS_IWARP_CRC", false);
  const char* backend = std::getenv("EXS_IWARP_BACKEND");
  settings.backend = backend_named(backend != nullptr ? backend : "");
  return settings;
}

}  // namespace exs::iwarp
