// Registered memory of the library's own, cut into equal buffers: what messages are received into and sent
// from.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/pages.h"
#include "src/provider/verbs/device.h"

namespace exs::verbs {

// Names a buffer: which piece of memory, and which buffer of it.
using BufferNumber = std::uint32_t;
inline constexpr BufferNumber kNoBuffer = UINT32_MAX;

// Grows by whole pieces of memory, and never shrinks. Thread: shard.
class Buffers {
 public:
  Buffers(Device& device, std::size_t buffer_bytes, std::uint32_t buffers_a_piece)
      : device_(device), buffer_bytes_(buffer_bytes), buffers_a_piece_(buffers_a_piece) {}

  // Makes one more piece of free buffers. ENOMEM.
  Status grow();
  // kNoBuffer: none is free.
  BufferNumber take_buffer() noexcept;
  void give_back(BufferNumber buffer) { free_.push_back(buffer); }

  [[nodiscard]] std::span<std::byte> memory(BufferNumber buffer) const noexcept;
  // The entry for a work request on the first `length_bytes`.
  [[nodiscard]] ibv_sge entry(BufferNumber buffer, std::size_t length_bytes) const noexcept;
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(pieces_.size()) * buffers_a_piece_;
  }

 private:
  struct Piece {
    Pages pages;
    MemoryRegion region;  // goes before its pages
  };

  Device& device_;
  const std::size_t buffer_bytes_;
  const std::uint32_t buffers_a_piece_;
  std::vector<Piece> pieces_;
  std::vector<BufferNumber> free_;  // the one used last is the first to be used again
};

}  // namespace exs::verbs
