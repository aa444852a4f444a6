#include "sockets/preload/successor.h"

#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sockets/settings/program.h"

namespace exs::sockets {
namespace {

const char* value_of(const char* name, char* const* environment) noexcept {
  const std::size_t length = std::strlen(name);
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return *environment + length + 1;
  return "";
}

bool loads_us(const char* path) noexcept {
  const Unserved unserved = examine_program(path);
  return unserved == Unserved::kNot || unserved == Unserved::kIoUring;
}

}  // namespace

bool is_preloaded(const char* path, char* const* environment) noexcept {
  return path != nullptr &&
         std::strstr(value_of("LD_PRELOAD", environment), "libexs_sockets.so") != nullptr &&
         std::strncmp(value_of("EXS_SOCKETS", environment), "off", 3) != 0 && loads_us(path);
}

bool is_preloaded_by_name(const char* name, char* const* environment) noexcept {
  if (name == nullptr || std::strchr(name, '/') != nullptr) return is_preloaded(name, environment);
  const char* list = std::getenv("PATH");
  if (list == nullptr) list = "/bin:/usr/bin";
  for (;; ++list) {
    const std::size_t length = std::strcspn(list, ":");
    char path[PATH_MAX];
    const int told = std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(length == 0 ? 1 : length),
                                   length == 0 ? "." : list, name);
    if (told > 0 && told < static_cast<int>(sizeof path) && access(path, X_OK) == 0)
      return is_preloaded(path, environment);
    list += length;
    if (*list == '\0') return false;
  }
}

}  // namespace exs::sockets
