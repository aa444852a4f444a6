// Memory for a message, with room for its frame before it. It grows as the message does that is written there, and a peer may read it.
// Thread: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exs/exs.h"
#include "rpc/channel/frame.h"

namespace exs::rpc {

class MessageBuffer {
 public:
  MessageBuffer() = default;
  ~MessageBuffer();
  MessageBuffer(MessageBuffer&& other) noexcept { swap(other); }
  MessageBuffer& operator=(MessageBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  // Room for a message of `bytes`, with what is written of it kept. False: there is no memory, or it would be too long.
  bool reserve(std::size_t bytes) { return bytes <= capacity_ || grow(bytes); }
  // Gives back what only a very long message needs.
  void shrink();

  [[nodiscard]] std::byte* message() const { return memory_ + kFrameBytes; }
  [[nodiscard]] std::byte* frame() const { return memory_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }

 private:
  bool grow(std::size_t bytes);
  void give_back();
  void swap(MessageBuffer& other) noexcept;

  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
};

}  // namespace exs::rpc
