// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/successor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/reach.h"
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

constexpr char kPreload[] = "LD_PRELOAD";
constexpr char kOurName[] = "libexs_sockets.so";

bool loads_us(Unserved unserved) noexcept {
  return unserved == Unserved::kNot || unserved == Unserved::kIoUring;
}
// The program's dynamic linker would end it, or complain that it cannot load us.
bool refuses_us(Unserved unserved) noexcept {
  return unserved == Unserved::kOtherLibc || unserved == Unserved::kOtherMachine ||
         unserved == Unserved::kSanitized;
}

// The kernel will not run the file for this process.
bool cannot_run(const char* path) noexcept {
  const long result = raw::sys(SYS_faccessat2, AT_FDCWD, path, X_OK, AT_EACCESS);
  return result == -ENOENT || result == -ENOTDIR || result == -EACCES;
}

}  // namespace

Successor successor_of(const char* path, char* const* environment) noexcept {
  if (path == nullptr || cannot_run(path) || !are_there(environment)) return Successor::kNone;
  if (std::strstr(value_of(kPreload, environment), kOurName) == nullptr) return Successor::kOther;
  const Unserved unserved = examine_program(path);
  if (refuses_us(unserved)) return Successor::kRefusesUs;
  return loads_us(unserved) ? Successor::kOurs : Successor::kOther;
}

std::size_t preload_bytes(char* const* environment) noexcept {
  return sizeof kPreload + std::strlen(value_of(kPreload, environment)) + 1;
}

char* const* without_us(char* const* environment, char** room, char* word) noexcept {
  const char* const value = value_of(kPreload, environment);
  std::memcpy(word, kPreload, sizeof kPreload - 1);
  char* end = word + sizeof kPreload - 1;
  *end++ = '=';
  const char* const begin = end;
  for (const char* at = value; *at != '\0';) {
    const std::size_t length = std::strcspn(at, ": ");
    const bool is_us = length >= sizeof kOurName - 1 &&
                       std::strncmp(at + length - (sizeof kOurName - 1), kOurName, sizeof kOurName - 1) == 0;
    if (length > 0 && !is_us) {
      if (end != begin) *end++ = ':';
      std::memcpy(end, at, length);
      end += length;
    }
    at += length;
    if (*at != '\0') ++at;
  }
  *end = '\0';
  char** to = room;
  for (char* const* from = environment; *from != nullptr; ++from) {
    const bool is_preload =
        std::strncmp(*from, kPreload, sizeof kPreload - 1) == 0 && (*from)[sizeof kPreload - 1] == '=';
    if (!is_preload) {
      *to++ = *from;
    } else if (end != begin) {
      *to++ = word;
    }
  }
  *to = nullptr;
  return room;
}

Successor successor_by_name(const char* name, char* const* environment) noexcept {
  char* const names[] = {const_cast<char*>(name), nullptr};
  if (!are_there(names)) return Successor::kNone;
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
