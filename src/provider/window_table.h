// The windows one link has opened on our memory, found by the STag a peer must name.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "src/provider/provider.h"
#include "src/provider/tag_source.h"

namespace exs {

enum class WindowError : std::uint8_t { kNone, kUnknownKey, kDirection, kBounds, kWraps };

struct WindowView {
  std::byte* start = nullptr;
  WindowError error = WindowError::kNone;
};

// An STag is a slot number hidden by a link secret, under 16 bits that are drawn anew for every exposure. So
// a withdrawn key never names the slot's next window. The slot number shows, because slots are few. The 16
// bits reveal nothing about others.
// Thread: shard.
class WindowTable {
 public:
  explicit WindowTable(const TagKey& key);

  // The peer calls the window's first byte `address`. ENOSPC: 65536 windows are open.
  Result<std::uint32_t> open(std::span<std::byte> memory, Access access, std::uint64_t address = 0);
  // EINVAL: no such window. EBUSY: a read of the peer is being answered from it.
  Status close(std::uint32_t stag);
  void clear() noexcept;

  // `length_bytes` is more than zero; an operation on no bytes has no window to check.
  [[nodiscard]] WindowView find(std::uint32_t stag, std::uint64_t address, std::uint64_t length_bytes,
                                Access direction) const;

  // Between these two calls the window's memory is in a queue of answers, and close() refuses.
  void begin_serving(std::uint32_t stag);
  void end_serving(std::uint32_t stag);

 private:
  struct Window {
    std::span<std::byte> memory;
    std::uint64_t address = 0;
    Access access = Access::kLocal;  // kLocal: the slot is free
    std::uint16_t draw = 0;
    std::uint32_t serving = 0;
  };

  [[nodiscard]] std::uint32_t stag_of(std::size_t slot) const;
  [[nodiscard]] const Window* find_window(std::uint32_t stag) const;
  std::uint16_t next_draw();

  TagSource tags_;
  std::uint64_t draws_ = 0;    // four come from one number of tags_
  std::uint64_t undrawn_ = 0;  // the bits that are left of the last
  std::uint16_t slot_secret_;
  std::vector<Window> windows_;
  std::vector<std::uint16_t> free_slots_;
};

}  // namespace exs
