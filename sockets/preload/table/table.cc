// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/table.h"

#include "sockets/preload/table/aliases.h"

namespace exs::sockets {
namespace {

// It only grows.
std::atomic<int> numbers_end{0};

}  // namespace

void set_entry(int number, std::uint32_t entry) noexcept {
  forget_alias(number);
  if (entry != 0 && (entry & kBits) == 0) {
    ++share_of(entry).numbers;
    note_share(entry);
  }
  find_entry(number)->store(entry);
  int end = numbers_end.load();
  while (number >= end && !numbers_end.compare_exchange_weak(end, number + 1)) {
  }
}

int numbers_known() noexcept {
  return numbers_end.load();
}

}  // namespace exs::sockets
