// Memory for one message, with room for its frame before it. It grows while the message is written, and a peer may read it. Thread: one
// at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

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

  // Makes room for a message of `bytes` and keeps its content. Returns false if memory ran out or the message is too long.
  [[nodiscard]] bool reserve(std::size_t bytes) { return bytes <= capacity_ || grow(bytes); }
  // Frees memory that only a very long message needs.
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
