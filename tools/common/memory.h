// Registered memory, and buffers in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exs/exs.hpp>
#include <memory>
#include <optional>
#include <span>

namespace tools {

enum class MemoryKind : std::uint8_t {
  plain = 0,  // pages of the process, registered
  alloc = 1   // of the library, exs_alloc
};

// Sockets are closed before it: operations use it until then.
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
  std::optional<exs::cpp::Buffer> buffer_;   // of the other kind
  std::span<std::byte> bytes_;
};

// `count` buffers of one size, used in turn: message n lies in slot n modulo count.
class Slots {
 public:
  Slots(std::size_t size_bytes, std::size_t count, MemoryKind kind);
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t message) const;
  // All slots, and where in them the slot of a message begins: equal at both ends.
  [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t message) const { return message % count_ * stride_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] exs_mhandle_t region() const { return memory_.region(); }
  // Every page is there and none is the shared page of zeros.
  void touch();

 private:
  const std::size_t size_bytes_;
  const std::size_t stride_;
  const std::size_t count_;
  Memory memory_;
};

}  // namespace tools
