// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/meeting/kept_marks.h"

#include <atomic>
#include <cstring>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets {
namespace {

constexpr unsigned kMarks = 8;
std::atomic<int> marks[kMarks];  // the descriptor plus one; 0: empty
std::atomic<unsigned> next{0};

bool has_name(int mark, const sockaddr* name, socklen_t length) noexcept {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  return raw::sys(SYS_getsockname, mark, &own, &bytes) == 0 && bytes == length &&
         std::memcmp(&own, name, length) == 0;
}

}  // namespace

void keep_mark(int mark) noexcept {
  const int oldest = marks[next.fetch_add(1) % kMarks].exchange(mark + 1);
  if (oldest != 0) close_hidden(oldest - 1);
}

int take_mark(const sockaddr* name, socklen_t length) noexcept {
  for (std::atomic<int>& mark : marks) {
    int known = mark.load();
    if (known != 0 && has_name(known - 1, name, length) && mark.compare_exchange_strong(known, 0))
      return known - 1;
  }
  return -1;
}

}  // namespace exs::sockets
