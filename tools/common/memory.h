// Registered memory, and buffers in it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <exs/exs.hpp>
#include <memory>
#include <optional>
#include <span>

namespace tools {

enum class MemoryKind : std::uint8_t {
  plain = 0,  // registered pages of the process
  alloc = 1   // exs_alloc() memory of the library
};

// Close sockets before it ends: their operations use it until then.
class Memory {
 public:
  Memory(std::size_t length, MemoryKind kind);

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] exs_mhandle_t region() const { return buffer_ ? buffer_->region() : exs_mhandle_t{*region_}; }

 private:
  struct Unmap {
    std::size_t length;
    void operator()(std::byte* pages) const;
  };

  std::unique_ptr<std::byte, Unmap> pages_;  // of plain memory
  std::optional<exs::cpp::Region> region_;   // of plain memory
  std::optional<exs::cpp::Buffer> buffer_;   // of memory of exs_alloc()
  std::span<std::byte> bytes_;
};

// `count` buffers of one size, used in turn: message n is in slot n modulo count.
class Slots {
 public:
  Slots(std::size_t size_bytes, std::size_t count, MemoryKind kind);
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t message) const;
  // All slots, and the offset of a message's slot: equal at both ends.
  [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t message) const { return message % count_ * stride_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] exs_mhandle_t region() const { return memory_.region(); }
  // Touches every page, so that none is the shared zero page.
  void touch();

 private:
  const std::size_t size_bytes_;
  const std::size_t stride_;
  const std::size_t count_;
  Memory memory_;
};

}  // namespace tools
