// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/link_table.h"

#include <cerrno>

#include "base/check.h"
#include "base/room.h"
#include "src/log/log.h"

namespace exs::shm {
namespace {

constexpr std::uint32_t kGenerations = 1U << 12;

}  // namespace

// The entry freed last is given first; its next number differs by the generation.
Result<std::uint32_t> LinkTable::reserve() {
  std::uint32_t index = 0;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (entries_.size() > kIndexMask) return failure(ENOSPC);
    index = static_cast<std::uint32_t>(entries_.size());
    make_room(free_, entries_.size());  // for remove()
    entries_.emplace_back();
  }
  NumberedLink& entry = entries_[index];
  entry.generation = (entry.generation + 1) % kGenerations;
  entry.number = entry.generation << kIndexBits | index;
  ++count_;
  return entry.number;
}

void LinkTable::attach(std::uint32_t number, ShmLink& link) {
  EXS_CHECK(is_reserved(number));
  entries_[number & kIndexMask].link = &link;
}

void LinkTable::remove(std::uint32_t number) {
  NumberedLink& entry = entries_[number & kIndexMask];
  EXS_CHECK(number != 0 && entry.number == number);
  entry.number = 0;
  entry.link = nullptr;
  free_.push_back(number & kIndexMask);
  --count_;
}

bool LinkTable::is_reserved(std::uint32_t number) const noexcept {
  const std::uint32_t index = number & kIndexMask;
  return number != 0 && index < entries_.size() && entries_[index].number == number &&
         entries_[index].link == nullptr;
}

}  // namespace exs::shm
