// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/rights.h"

#include <cerrno>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/process/retire.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

Ids remembered{};

bool is_ours(std::uint32_t index) noexcept {
  return has_numbers(index);
}

// The connection already goes by TCP.
bool leave_segment(std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock sending(slot.sending);
  const SlotLock receiving(slot.receiving);
  Segment* const segment = share_of(index).segment.load();
  const std::size_t capacity = share_of(index).has_words_alone ? 0 : slot.lane.capacity;
  return segment == nullptr || part_from_segment(*segment, capacity);
}

}  // namespace

void leave_family() noexcept {
  if (is_vfork_child() || !has_relatives()) return;
  const int error = errno;
  bool has_left = true;
  for (int number = 0; number < numbers_known(); ++number) {
    const std::uint32_t index = slot_of(number);
    if (index == 0 || slot_at(index).processes.load() <= 1) continue;
    detach(number, Why::kSandbox);
    has_left = leave_segment(index) && has_left;
  }
  if (has_left && part_from_relatives(is_ours)) {
    for (std::uint32_t index = 1; index < shares_used(); ++index)
      if (is_ours(index)) slot_at(index).processes.store(1);
  } else {
    retire(Why::kNoDescriptors);
  }
  errno = error;
}

Ids ids_now() noexcept {
  Ids ids{};
  raw::sys(SYS_getresuid, &ids.users[0], &ids.users[1], &ids.users[2]);
  raw::sys(SYS_getresgid, &ids.groups[0], &ids.groups[1], &ids.groups[2]);
  return ids;
}

void remember_ids() noexcept {
  if (!is_vfork_child()) remembered = ids_now();
}

bool has_other_ids() noexcept {
  return !(ids_now() == remembered);
}

}  // namespace exs::sockets
