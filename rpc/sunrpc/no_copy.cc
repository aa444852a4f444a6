// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/no_copy.h"

#include <rpc/rpc.h>

#include <cstddef>
#include <new>
#include <unordered_set>

#include "base/annotations.h"
#include "base/drive_lock.h"
#include "exs/sunrpc.h"

namespace exs::rpc {
namespace {

thread_local std::span<const std::byte> decoded;

// Pointers into messages that stubs will free. They must not reach free().
class Views {
 public:
  // Returns false if memory ran out.
  [[nodiscard]] bool add(const char* view) {
    const LockGuard lock(mutex_);
    try {
      views_.insert(view);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  // Returns false if it is no such pointer.
  [[nodiscard]] bool remove(const char* view) {
    const LockGuard lock(mutex_);
    return views_.erase(view) != 0;
  }

 private:
  Mutex mutex_;
  std::unordered_set<const char*> views_ EXS_GUARDED_BY(mutex_);
};

Views& views() {
  alignas(Views) static std::byte place[sizeof(Views)];
  static Views& all = *new (place) Views;  // programs free at their exit, too
  return all;
}

// Memory streams of libtirpc have their position in x_private. RPCSEC_GSS unwraps into memory of its own.
bool is_in_message(const XDR& stream) {
  const auto* const at = static_cast<const std::byte*>(static_cast<const void*>(stream.x_private));
  return !decoded.empty() && at >= decoded.data() && at < decoded.data() + decoded.size();
}

}  // namespace

DecodedMessage::DecodedMessage(std::span<const std::byte> message) : outer_(decoded) {
  decoded = message;
}
DecodedMessage::~DecodedMessage() {
  decoded = outer_;
}

}  // namespace exs::rpc

bool_t exs_xdr_bytes(XDR* stream, char** bytes, u_int* length, u_int most) {
  using exs::rpc::views;
  if (stream->x_op == XDR_FREE && *bytes != nullptr && views().remove(*bytes)) {
    *bytes = nullptr;
    return TRUE;
  }
  if (stream->x_op != XDR_DECODE || !exs::rpc::is_in_message(*stream))
    return xdr_bytes(stream, bytes, length, most);
  u_int count = 0;
  if (!xdr_u_int(stream, &count) || count > most) return FALSE;
  *length = count;
  *bytes = nullptr;
  if (count == 0) return TRUE;
  constexpr u_int kUnit = BYTES_PER_XDR_UNIT;
  if (count > UINT32_MAX - kUnit) return FALSE;
  int32_t* const place = XDR_INLINE(stream, (count + kUnit - 1) / kUnit * kUnit);
  if (place == nullptr) return FALSE;
  char* const view = static_cast<char*>(static_cast<void*>(place));
  if (!views().add(view)) return FALSE;
  *bytes = view;
  return TRUE;
}
