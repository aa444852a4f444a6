// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/numbers.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "sockets/between/between.h"
#include "sockets/preload/detach/carry.h"
#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/kernel/rules.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/meeting/kept_marks.h"
#include "sockets/preload/meeting/listener_mark.h"
#include "sockets/preload/meeting/meeting.h"
#include "sockets/preload/process/explain.h"
#include "sockets/preload/table/aliases.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/epoll_sets.h"

namespace exs::sockets {
namespace {

// Removes the entry. Returns the slot if this was its last number in the process, else 0.
std::uint32_t remove(int number) noexcept EXS_REQUIRES(g_table_mutex) {
  const std::uint32_t entry = take_entry(number);
  forget_alias(number);
  if (entry == 0 || (entry & kBits) != 0) return 0;
  return --share_of(entry).numbers == 0 ? entry : 0;
}

// The last number of the process's last share is about to close.
void say_goodbye_of(int number, std::uint32_t index) noexcept {
  // A connection that was under way when it was noted had no peer then, so its last line lacks the rule.
  if (settings().explain && slot_at(index).stage.load() == Stage::kNoted) apply_rule(number, index);
  say_goodbye(number, index);
}

// The process gives up its share of the slot.
void release(std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  SlotShare& place = share_of(index);
  end_meeting(index);
  drop_registrations(index);
  {
    const SlotLock sending(slot.sending);
    const SlotLock receiving(slot.receiving);
    Segment* const segment = place.segment.exchange(nullptr);
    if (between::HostLink* const link = place.link.exchange(nullptr))
      between::release(*link, slot.receiver.due - slot.receiver.taken);
    else if (segment != nullptr)
      unmap_segment(segment, place.has_words_alone ? 0 : slot.lane.capacity);
    place.has_words_alone = false;
    drop_carried(index, slot.processes.load() == 0);
  }
  if (slot.processes.load() != 0) return;
  explain_end(index);
  free_slot(index);
}

}  // namespace

void note_connection(int number, bool is_caller) noexcept {
  if (!is_known(number) || !settings().on || is_vfork_child()) return;
  forget_number(number);
  const std::uint32_t index = take_slot();
  if (index == 0) return;
  watch_for_forks();
  watch_copies();
  FamilySlot& slot = slot_at(index);
  slot.is_caller = is_caller;
  slot.inode = inode_of(number);
  const bool is_stdio = number <= STDERR_FILENO;  // stdio reads and writes it below our names
  if (is_stdio || !rules().is_on()) {
    slot.why.store(rules().is_on() ? Why::kStandardStream : Why::kRule);
    enter_state(slot.stage, Stage::kPlain);
  } else {
    apply_rule(number, index);
  }
  const TableLock lock;
  set_entry(number, index);
}

void note_listener(int number) noexcept {
  if (!is_known(number) || !settings().on || is_vfork_child()) return;
  if (entry_of(number) != 0) return;
  const int mark = announce_listener(number);
  const TableLock lock;
  set_entry(number, kListenerBit | static_cast<std::uint32_t>(mark + 1));
}

void forget_number(int number) noexcept {
  const std::uint32_t entry = entry_of(number);
  if (entry == 0 || (entry & kHiddenBit) != 0 || is_vfork_child()) return;
  // The number already belongs to something else and must not be touched.
  if ((entry & kEpollBit) != 0) return forget_epoll_set(number);
  if ((entry & kListenerBit) != 0) {
    take_entry(number);
    const int mark = static_cast<int>(entry & ~(kListenerBit | kHiddenBit)) - 1;
    if (mark >= 0) keep_mark(mark);
    return;
  }
  std::uint32_t last = 0;
  {
    const TableLock lock;
    last = remove(number);
  }
  if (last == 0) return;
  slot_at(last).processes.fetch_sub(1);
  release(last);
}

void note_duplicate(int number, int original) noexcept {
  if (!is_known(number)) return;
  const std::uint32_t entry = entry_of(original);
  if (is_vfork_child()) {
    detach_sending(original, Why::kPinnedExec);  // the layer does not see writes to the duplicate
    return note_alias(original, number);
  }
  forget_number(number);
  if ((entry & kEpollBit) != 0) return share_epoll_set(original);
  if (entry == 0) return;
  // A listening socket's announcement ends with the number that made it.
  const TableLock lock;
  set_entry(number, (entry & kListenerBit) != 0 ? kListenerBit : entry);
}

NumberClosing::NumberClosing(int number) noexcept {
  const std::uint32_t entry = entry_of(number);
  if (entry == 0 || (entry & kHiddenBit) != 0 || is_vfork_child()) return;
  if ((entry & kEpollBit) != 0) {
    forget_epoll_set(number);
    return;
  }
  if ((entry & kListenerBit) != 0) {
    take_entry(number);
    mark_ = static_cast<int>(entry & ~(kListenerBit | kHiddenBit)) - 1;
    return;
  }
  {
    const TableLock lock;
    slot_ = remove(number);
  }
  if (slot_ == 0) return;
  FamilySlot& slot = slot_at(slot_);
  const bool has_lane = share_of(slot_).segment.load() != nullptr || is_in_lane(slot);
  if (has_lane && slot.inode != inode_of(number)) {  // the number already belongs to another socket
    slot.processes.fetch_sub(1);
    return;
  }
  if (slot.processes.fetch_sub(1) == 1) say_goodbye_of(number, slot_);
}

NumberClosing::~NumberClosing() {
  if (mark_ >= 0) keep_mark(mark_);
  if (slot_ != 0) release(slot_);
}

void forget_all() noexcept {
  for (int number = 0; number < numbers_known(); ++number) forget_number(number);
}

void adopt_connection(int number, std::uint32_t slot) noexcept {
  follow_connections();
  watch_copies();
  const TableLock lock;
  if (is_known(number) && entry_of(number) == 0) set_entry(number, slot);
}

void leave_all(bool (*kept)(int number)) noexcept {
  if (is_vfork_child()) return;
  constexpr std::uint64_t kFarPatienceNs = kNsPerSecond;
  const std::uint64_t far_end = monotonic_ns() + kFarPatienceNs;
  const auto far_ms = [&] {
    const std::uint64_t now = monotonic_ns();
    return now < far_end ? static_cast<int>((far_end - now) / kNsPerMs) : 0;
  };
  const int end = numbers_known();
  for (int number = 0; number < end; ++number) {
    const std::uint32_t index = slot_of(number);
    if (index == 0 || kept(number)) continue;
    // The first of several numbers says goodbye for all.
    FamilySlot& slot = slot_at(index);
    if (slot.processes.load() > 1) continue;
    say_goodbye_of(number, index);
    if (between::HostLink* const link = share_of(index).link.load()) between::await_turn(*link, far_ms());
    explain_end(index);
  }
  between::await_released(far_ms());
  for (std::uint32_t index = 1; index < shares_used(); ++index) {
    end_meeting(index);  // the kernel would close what strangers have left in it
    if (has_numbers(index)) slot_at(index).processes.fetch_sub(1);
  }
}

void leave_for_good() noexcept {
  static std::atomic<bool> left{false};
  if (is_vfork_child() || left.exchange(true)) return;
  leave_all([](int) { return false; });
}

void return_to_all() noexcept {
  if (is_vfork_child()) return;
  for (std::uint32_t index = 1; index < shares_used(); ++index)
    if (has_numbers(index)) slot_at(index).processes.fetch_add(1);
}

void before_fork() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  if (is_retired()) return;
  note_relatives();
  share_epoll_sets_that([](int) { return true; });
  g_table_mutex.lock();
  return_to_all();
}

void after_fork_in_parent() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  if (!is_retired()) g_table_mutex.unlock();
}

void after_fork_in_child() noexcept {
  for (std::uint32_t index = 1; index < shares_used(); ++index) share_of(index).link.store(nullptr);
  between::forget_in_child();
  if (is_retired()) return;
  remember_process();
  g_table_mutex.forget_holder();
}

void undo_fork() noexcept {
  for (std::uint32_t index = 1; index < shares_used(); ++index)
    if (has_numbers(index)) slot_at(index).processes.fetch_sub(1);
}

}  // namespace exs::sockets
