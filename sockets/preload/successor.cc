#include "sockets/preload/successor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sockets/preload/raw.h"
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

// The kernel will not run it, whoever asks.
bool cannot_run(const char* path) noexcept {
  const long result = raw::sys(SYS_faccessat2, AT_FDCWD, path, X_OK, AT_EACCESS);
  return result == -ENOENT || result == -ENOTDIR || result == -EACCES;
}

}  // namespace

Successor successor_of(const char* path, char* const* environment) noexcept {
  if (path == nullptr || cannot_run(path)) return Successor::kNone;
  const bool is_ours = std::strstr(value_of("LD_PRELOAD", environment), "libexs_sockets.so") != nullptr &&
                       std::strncmp(value_of("EXS_SOCKETS", environment), "off", 3) != 0 && loads_us(path);
  return is_ours ? Successor::kOurs : Successor::kOther;
}

Successor successor_by_name(const char* name, char* const* environment) noexcept {
  if (name == nullptr || std::strchr(name, '/') != nullptr) return successor_of(name, environment);
  const char* list = std::getenv("PATH");
  if (list == nullptr) list = "/bin:/usr/bin";
  for (;; ++list) {
    const std::size_t length = std::strcspn(list, ":");
    char path[PATH_MAX];
    const int told = std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(length == 0 ? 1 : length),
                                   length == 0 ? "." : list, name);
    if (told > 0 && told < static_cast<int>(sizeof path) && !cannot_run(path))
      return successor_of(path, environment);
    list += length;
    if (*list == '\0') return Successor::kNone;
  }
}

}  // namespace exs::sockets
