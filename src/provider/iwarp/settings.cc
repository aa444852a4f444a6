#include "src/provider/iwarp/settings.h"

#include <cstdlib>
#include <string_view>

namespace exs::iwarp {
namespace {

BackendChoice backend_named(std::string_view name) {
  if (name.empty()) return BackendChoice::kAutomatic;
  if (name == "epoll") return BackendChoice::kEpoll;
  if (name == "io_uring") return BackendChoice::kUring;
  return BackendChoice::kUnknown;
}

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  const char* crc = std::getenv("EXS_IWARP_CRC");
  settings.want_crc = crc != nullptr && std::string_view(crc) == "1";
  const char* backend = std::getenv("EXS_IWARP_BACKEND");
  settings.backend = backend_named(backend != nullptr ? backend : "");
  return settings;
}

}  // namespace exs::iwarp
