// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/aliases.h"

#include <atomic>

#include "sockets/preload/table/entries.h"
#include "sockets/preload/table/table_lock.h"

namespace exs::sockets {
namespace {

struct Alias {
  int number;
  int alias;
};
constexpr int kAliases = 256;
Alias aliases[kAliases];  // the first `used` are valid; guarded by the table's lock
std::atomic<int> used{0};

}  // namespace

void note_alias(int number, int alias) noexcept {
  const TableLock lock;
  const int count = used.load();
  for (int i = 0; i < count; ++i) {
    if (aliases[i].number != number && aliases[i].alias != number) continue;
    aliases[i].alias = alias;  // a duplicate of the duplicate belongs to the first number, too
    return;
  }
  if (slot_of(number) == 0 || count == kAliases) return;
  aliases[count] = {number, alias};
  used.store(count + 1);
}

int alias_of(int number) noexcept {
  if (used.load() == 0) return -1;
  const TableLock lock;
  for (int i = 0; i < used.load(); ++i)
    if (aliases[i].number == number) return aliases[i].alias;
  return -1;
}

void forget_alias(int number) noexcept {
  if (used.load() == 0) return;
  const TableLock lock;
  const int count = used.load();
  for (int i = 0; i < count; ++i) {
    if (aliases[i].number != number) continue;
    aliases[i] = aliases[count - 1];
    return used.store(count - 1);
  }
}

}  // namespace exs::sockets
