// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/window_table.h"

#include <utility>

namespace exs {
namespace {

constexpr std::size_t kSlotsMax = 65536;

bool allows(Access granted, Access wanted) {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

}  // namespace

WindowTable::WindowTable(const TagKey& key)
    : tags_(key), slot_secret_(static_cast<std::uint16_t>(tags_.at(~std::uint64_t{0}))) {}

std::uint16_t WindowTable::next_draw() {
  undrawn_ = draws_ % 4 == 0 ? tags_.at(draws_ / 4) : undrawn_ >> 16;
  ++draws_;
  return static_cast<std::uint16_t>(undrawn_);
}

std::uint32_t WindowTable::stag_of(std::size_t slot) const {
  const auto hidden_slot = static_cast<std::uint32_t>(static_cast<std::uint16_t>(slot) ^ slot_secret_);
  return hidden_slot << 16 | windows_[slot].draw;
}

const WindowTable::Window* WindowTable::find_window(std::uint32_t stag) const {
  const std::size_t slot = static_cast<std::uint16_t>(stag >> 16) ^ slot_secret_;
  if (slot >= windows_.size()) return nullptr;
  const Window& window = windows_[slot];
  if (window.access == Access::kLocal || window.draw != static_cast<std::uint16_t>(stag)) return nullptr;
  return &window;
}

Result<std::uint32_t> WindowTable::open(std::span<std::byte> memory, Access access, std::uint64_t address) {
  if (memory.empty() || access == Access::kLocal) return failure(EINVAL);
  std::size_t slot = windows_.size();
  if (!free_slots_.empty()) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  } else if (slot < kSlotsMax) {
    // The room for the slot's return comes first: close() never allocates, and a failure here changes nothing.
    if (free_slots_.capacity() <= slot) free_slots_.reserve(2 * slot + 1);
    windows_.emplace_back();
  } else {
    return failure(ENOSPC);
  }
  Window& window = windows_[slot];
  const std::uint16_t old_draw = window.draw;
  // 0 and 1 are no STags: hardware refuses 0, and 1 is what a zero-length ready-to-receive write names.
  do {
    window.draw = next_draw();
  } while (window.draw == old_draw || stag_of(slot) <= 1);
  window.memory = memory;
  window.address = address;
  window.access = access;
  window.serving = 0;
  return stag_of(slot);
}

Status WindowTable::close(std::uint32_t stag) {
  auto* window = const_cast<Window*>(find_window(stag));
  if (window == nullptr) return Status(EINVAL);
  if (window->serving > 0) return Status(EBUSY);
  window->access = Access::kLocal;
  window->memory = {};
  free_slots_.push_back(static_cast<std::uint16_t>(window - windows_.data()));
  return {};
}

void WindowTable::clear() noexcept {
  windows_.clear();
  free_slots_.clear();
}

WindowView WindowTable::find(std::uint32_t stag, std::uint64_t address, std::uint64_t length_bytes,
                             Access direction) const {
  const Window* window = find_window(stag);
  if (window == nullptr) return {nullptr, WindowError::kUnknownKey};
  if (!allows(window->access, direction)) return {nullptr, WindowError::kDirection};
  if (address + length_bytes < address) return {nullptr, WindowError::kWraps};
  const std::uint64_t offset = address - window->address;
  if (address < window->address || offset > window->memory.size() ||
      length_bytes > window->memory.size() - offset) {
    return {nullptr, WindowError::kBounds};
  }
  return {window->memory.data() + offset, WindowError::kNone};
}

void WindowTable::begin_serving(std::uint32_t stag) {
  if (auto* window = const_cast<Window*>(find_window(stag))) ++window->serving;
}

void WindowTable::end_serving(std::uint32_t stag) {
  auto* window = const_cast<Window*>(find_window(stag));
  if (window != nullptr && window->serving > 0) --window->serving;
}

}  // namespace exs
