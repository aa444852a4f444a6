// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/handover.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/number_list.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/process/rights.h"
#include "sockets/preload/table/aliases.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/inherited_sets.h"

namespace exs::sockets {
namespace {

constexpr char kVariable[] = "EXS_SOCKETS_FAMILY";

void close_at_exec(int descriptor, bool closes) noexcept {
  raw::sys(SYS_fcntl, descriptor, F_SETFD, closes ? FD_CLOEXEC : 0);
}

// Removes the variable from the environment and returns its value.
const char* take_variable() noexcept {
  const std::size_t length = sizeof kVariable - 1;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word) {
    if (std::strncmp(*word, kVariable, length) != 0 || (*word)[length] != '=') continue;
    const char* const value = *word + length + 1;
    do word[0] = word[1];
    while (*word++ != nullptr);
    return value;
  }
  return nullptr;
}

bool is_listed(const char* list, std::uint32_t slot) noexcept {
  while (*list != '\0') {
    char* end = nullptr;
    if (std::strtoul(list, &end, 10) == slot) return true;
    if (*end == '\0' || end == list) return false;
    list = end + 1;
  }
  return false;
}

// A child of vfork may have closed the number and kept a duplicate.
int open_number(int number) noexcept {
  const int alias = alias_of(number);
  return alias >= 0 && raw::sys(SYS_fcntl, number, F_GETFD, 0) < 0 ? alias : number;
}

}  // namespace

ExecHandover::ExecHandover(bool is_ours, bool (*kept)(int number)) noexcept {
  if (shares_used() == 0) return;
  descriptor_ = is_ours && !has_other_ids() ? arena_descriptor() : -1;
  for (int number = 0; number < numbers_known(); ++number) {
    const std::uint32_t slot = slot_of(number);
    if (slot == 0 || !kept(number)) continue;
    if (descriptor_ < 0 || slots_ == kSlotsMax) {
      detach_slot(open_number(number), slot, Why::kPinnedExec);
    } else if (detach_with_unread(open_number(number), slot, Why::kPinnedExec) ||
               kept_error(slot_at(slot)) != 0) {  // TCP does not report this error again
      add(slot);
    }
  }
  if (slots_ == 0) return;
  write_word(descriptor_);
  close_at_exec(descriptor_, false);
}

ExecHandover::~ExecHandover() {
  if (slots_ > 0) close_at_exec(descriptor_, true);
}

void ExecHandover::failed() noexcept {
  for (std::size_t i = 0; i < slots_; ++i) slot_at(list_[i]).processes.fetch_sub(1);
}

// Counts the next program now, because this one may end before that begins.
void ExecHandover::add(std::uint32_t slot) noexcept {
  note_relatives();
  for (std::size_t i = 0; i < slots_; ++i)
    if (list_[i] == slot) return;
  slot_at(slot).processes.fetch_add(1);
  list_[slots_++] = slot;
}

void ExecHandover::write_word(int descriptor) noexcept {
  char* end = word_ + std::snprintf(word_, sizeof word_, "%s=%d:", kVariable, descriptor);
  for (std::size_t i = 0; i < slots_; ++i)
    end += std::snprintf(end, static_cast<std::size_t>(word_ + sizeof word_ - end), i == 0 ? "%u" : ",%u",
                         list_[i]);
}

std::size_t environment_words(char* const* environment) noexcept {
  std::size_t count = 2;
  while (environment != nullptr && environment[count - 2] != nullptr) ++count;
  return count;
}

char* const* with_word(char* const* environment, const char* word, char** room) noexcept {
  const std::size_t count = environment_words(environment) - 2;
  if (count > 0) std::memcpy(room, environment, count * sizeof *room);
  room[count] = const_cast<char*>(word);
  room[count + 1] = nullptr;
  return room;
}

void take_over() noexcept {
  const char* const value = take_variable();
  if (value == nullptr) return;
  char* list = nullptr;
  const auto descriptor = static_cast<int>(std::strtol(value, &list, 10));
  if (*list != ':' || !adopt_arena(descriptor)) return;
  ++list;
  each_number_in("/proc/self/fd", [&](int number) {
    const std::uint64_t inode = inode_of(number);
    if (inode == 0) return;
    for (std::uint32_t slot = 1;; ++slot) {
      const FamilySlot* const found = find_slot(slot);
      if (found == nullptr || found->generation.load() == 0) break;
      if (found->inode == inode && is_listed(list, slot)) adopt_connection(number, slot);
    }
  });
  each_number_in("/proc/self/fd", adopt_epoll_set);
  // A slot without an inherited connection loses one process.
  for (const char* at = list; *at != '\0';) {
    char* end = nullptr;
    const auto slot = static_cast<std::uint32_t>(std::strtoul(at, &end, 10));
    if (end == at) break;
    FamilySlot* const found = find_slot(slot);
    if (found != nullptr && !has_numbers(slot)) found->processes.fetch_sub(1);
    at = *end == ',' ? end + 1 : end;
  }
}

}  // namespace exs::sockets
