// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/inherited_sets.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <cstdio>
#include <cstring>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/epoll_sets.h"

namespace exs::sockets {
namespace {

// Parses a line of /proc/self/fdinfo: "tfd:        4 events:       19 data:                4  pos:0 ...".
void adopt_line(int set, const char* line, bool& is_noted) noexcept {
  int number = -1;
  unsigned events = 0;
  unsigned long long data = 0;
  if (std::sscanf(line, "tfd: %d events: %x data: %llx", &number, &events, &data) != 3) return;
  if (!is_noted) note_inherited_epoll_set(set);
  is_noted = true;
  if (slot_of(number) == 0) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  note_registration(set, EPOLL_CTL_ADD, number, &event);
}

}  // namespace

void adopt_epoll_set(int number) noexcept {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", number);
  const auto file = static_cast<int>(raw::sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
  if (file < 0) return;
  bool is_noted = false;
  char text[4096];
  std::size_t there = 0;
  for (long count = 0; (count = raw::sys(SYS_read, file, text + there, sizeof text - 1 - there)) > 0;) {
    there += static_cast<std::size_t>(count);
    text[there] = '\0';
    char* line = text;
    for (char* end = nullptr; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      adopt_line(number, line, is_noted);
    }
    there -= static_cast<std::size_t>(line - text);
    std::memmove(text, line, there);
  }
  raw::sys(SYS_close, file);
}

}  // namespace exs::sockets
