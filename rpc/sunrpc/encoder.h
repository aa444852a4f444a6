// An XDR stream that writes a message where it will be sent from. It replaces libtirpc's record stream and its copy. Thread: one at a
// time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <cstddef>
#include <cstdint>

#include "rpc/channel/message_buffer.h"

namespace exs::rpc {

class XdrEncoder {
 public:
  // Encodes one message of at most `longest` bytes, from its first byte. The message stays in `buffer`.
  explicit XdrEncoder(MessageBuffer& buffer, std::size_t longest = SIZE_MAX);

  [[nodiscard]] XDR* stream() { return &stream_; }
  [[nodiscard]] std::size_t bytes() const { return position_; }
  // Memory ran out, or the message exceeds `longest`; TCP may still carry it.
  [[nodiscard]] bool is_full() const { return is_full_; }

 private:
  static XdrEncoder& of(XDR* stream) {
    return *static_cast<XdrEncoder*>(static_cast<void*>(stream->x_private));
  }
  static bool_t get_long(XDR* stream, long* value);
  static bool_t put_long(XDR* stream, const long* value);
  static bool_t get_bytes(XDR* stream, char* bytes, u_int count);
  static bool_t put_bytes(XDR* stream, const char* bytes, u_int count);
  static u_int position(XDR* stream);
  static bool_t set_position(XDR* stream, u_int position);
  static int32_t* inline_bytes(XDR* stream, u_int count);
  static void destroy(XDR* stream);
  static bool_t control(XDR* stream, int request, void* value);
  static const XDR::xdr_ops kOperations;

  // Returns room for the next `count` bytes, or NULL.
  std::byte* take_room(std::size_t count) {
    if (position_ + count > longest_ || !buffer_.reserve(position_ + count)) {
      is_full_ = true;
      return nullptr;
    }
    std::byte* const at = buffer_.message() + position_;
    position_ += count;
    return at;
  }

  MessageBuffer& buffer_;
  std::size_t longest_;
  std::size_t position_ = 0;
  bool is_full_ = false;
  XDR stream_{};
};

}  // namespace exs::rpc
