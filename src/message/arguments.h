// Checks and translations for the calls of exs/msg.h. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/status.h"
#include "event/message/endpoint.h"
#include "exs/msg.h"

namespace exs {

// Context and tag, by which messages are matched.
[[nodiscard]] inline std::uint64_t bits_of(int tag, int context) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(context)} << 32U | static_cast<std::uint32_t>(tag);
}

Status refuse_rank(const Endpoint& endpoint, int rank);
// EINVAL: it is no rank.
inline Status check_rank(const Endpoint& endpoint, int rank) {
  if (rank >= 0 && static_cast<std::uint32_t>(rank) < endpoint.size()) return Status();
  return refuse_rank(endpoint, rank);
}
Status refuse_send(const Endpoint& endpoint, int to, int tag, int context, int flags);
// Rank, tag, context and flags of a send. EINVAL.
inline Status check_send(const Endpoint& endpoint, int to, int tag, int context, int flags) {
  const bool is_right = to >= 0 && static_cast<std::uint32_t>(to) < endpoint.size() && context >= 0 &&
                        tag != EXM_ANY_TAG && (flags & ~EXM_SYNC) == 0;
  return is_right ? Status() : refuse_send(endpoint, to, tag, context, flags);
}
Status refuse_source(const Endpoint& endpoint, int from, int context);
// Source and context of a receive or probe. EINVAL.
inline Status check_source(const Endpoint& endpoint, int from, int context) {
  const bool is_rank = from >= 0 && static_cast<std::uint32_t>(from) < endpoint.size();
  const bool is_right = context >= 0 && (is_rank || from == EXM_ANY_SOURCE);
  return is_right ? Status() : refuse_source(endpoint, from, context);
}
// The messages that it takes.
inline match::Criteria criteria_of(int from, int tag, int context) noexcept {
  const bool takes_any_tag = tag == EXM_ANY_TAG;
  return {.source = from == EXM_ANY_SOURCE ? match::kAnySource : static_cast<std::uint32_t>(from),
          .bits = bits_of(takes_any_tag ? 0 : tag, context),
          .ignore = takes_any_tag ? UINT32_MAX : 0U};
}

// One piece. The library writes to no memory that is sent.
inline Buffer buffer_of(const void* memory, std::size_t length) noexcept {
  return {.address = static_cast<std::byte*>(const_cast<void*>(memory)), .bytes = length, .pieces = {}};
}
Status refuse_memory(const Buffer& buffer);
// EINVAL: bytes nowhere.
inline Status check_memory(const Buffer& buffer) {
  const bool is_nowhere = buffer.address == nullptr && buffer.bytes > 0 && buffer.pieces.empty();
  return is_nowhere ? refuse_memory(buffer) : Status();
}
// EINVAL: too many, or bytes nowhere.
Result<Buffer> buffer_of(const exs_iovec_t* pieces, int count);
// Null: the request does not exist, or exm_tpoll reports its end.
Request* find_waitable(Endpoint& endpoint, exm_request_t request) noexcept;
// EINVAL.
Status no_such_request(exm_request_t request);

}  // namespace exs
