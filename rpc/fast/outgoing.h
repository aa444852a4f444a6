// A message that is being written. It is in its slot's place while it fits there, else in a buffer that grows. Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "base/status.h"
#include "rpc/channel/message_link.h"
#include "rpc/fast/slot_memory.h"

namespace exs::rpc {

class OutgoingMessage {
 public:
  OutgoingMessage(const SlotMemory& slots, std::size_t slot, MessageBuffer& buffer)
      : place_(slots.frame(slot) + kFrameBytes), region_(slots.region()), buffer_(buffer), memory_(place_) {}

  // Has no slot: the whole message is in the buffer.
  explicit OutgoingMessage(MessageBuffer& buffer)
      : place_(nullptr),
        region_(EXS_MHANDLE_INVALID),
        buffer_(buffer),
        memory_(nullptr),
        capacity_(0),
        is_long_(true) {}

  [[nodiscard]] std::byte* message() const { return memory_; }
  // The message does not fit its slot's place.
  [[nodiscard]] bool is_long() const { return is_long_; }
  // Makes room for `bytes` in all, and keeps the first `written`. Returns false if memory ran out.
  [[nodiscard]] bool reserve(std::size_t bytes, std::size_t written) {
    if (bytes <= capacity_) return true;
    if (!is_long_) {
      if (!buffer_.reserve(bytes)) return false;
      std::memcpy(buffer_.message(), memory_, written);
      is_long_ = true;
    } else if (!buffer_.reserve(bytes)) {
      return false;
    }
    memory_ = buffer_.message();
    capacity_ = buffer_.capacity();
    return true;
  }
  // Starts another message in the same place.
  void restart() {
    memory_ = place_;
    capacity_ = kInlineBytes;
    is_long_ = false;
  }
  // After an error the link is broken.
  Status send(MessageLink& link, std::size_t bytes) {
    EXS_DEBUG_CHECK(bytes <= capacity_);
    return is_long_ ? link.send_copied(buffer_, bytes)
                    : link.send_kept(memory_ - kFrameBytes, bytes, region_);
  }

 private:
  std::byte* const place_;
  const exs_mhandle_t region_;
  MessageBuffer& buffer_;
  std::byte* memory_;
  std::size_t capacity_ = kInlineBytes;
  bool is_long_ = false;
};

}  // namespace exs::rpc
