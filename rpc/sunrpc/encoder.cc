// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/encoder.h"

#include <arpa/inet.h>

#include <cstring>

namespace exs::rpc {

const XDR::xdr_ops XdrEncoder::kOperations = {get_long,     put_long,     get_bytes, put_bytes, position,
                                              set_position, inline_bytes, destroy,   control};

XdrEncoder::XdrEncoder(MessageBuffer& buffer, std::size_t longest) : buffer_(buffer), longest_(longest) {
  stream_.x_op = XDR_ENCODE;
  stream_.x_ops = &kOperations;
  stream_.x_private = this;
}

bool_t XdrEncoder::put_long(XDR* stream, const long* value) {
  const std::uint32_t word = htonl(static_cast<std::uint32_t>(*value));
  return put_bytes(stream, static_cast<const char*>(static_cast<const void*>(&word)), sizeof word);
}
bool_t XdrEncoder::put_bytes(XDR* stream, const char* bytes, u_int count) {
  std::byte* const at = of(stream).take_room(count);
  if (at == nullptr) return FALSE;
  if (count > 0) std::memcpy(at, bytes, count);
  return TRUE;
}

u_int XdrEncoder::position(XDR* stream) {
  return static_cast<u_int>(of(stream).position_);
}
bool_t XdrEncoder::set_position(XDR* stream, u_int position) {
  XdrEncoder& self = of(stream);
  if (!self.buffer_.reserve(position)) return FALSE;
  self.position_ = position;
  return TRUE;
}

// Callers store 32-bit words there; all parts of XDR are multiples of those.
int32_t* XdrEncoder::inline_bytes(XDR* stream, u_int count) {
  XdrEncoder& self = of(stream);
  if (self.position_ % sizeof(int32_t) != 0) return nullptr;
  return static_cast<int32_t*>(static_cast<void*>(self.take_room(count)));
}

bool_t XdrEncoder::get_long(XDR* /*stream*/, long* /*value*/) {
  return FALSE;
}
bool_t XdrEncoder::get_bytes(XDR* /*stream*/, char* /*bytes*/, u_int /*count*/) {
  return FALSE;
}
void XdrEncoder::destroy(XDR* /*stream*/) {}
bool_t XdrEncoder::control(XDR* /*stream*/, int /*request*/, void* /*value*/) {
  return FALSE;
}

}  // namespace exs::rpc
