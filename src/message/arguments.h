// Checks and translations for the calls of exs/msg.h. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/status.h"
#include "event/message/endpoint.h"
#include "exs/msg.h"

namespace exs {

// The messages that a receive or probe takes. EINVAL.
Result<match::Criteria> criteria_of(const Endpoint& endpoint, int from, int tag, int context);
// EINVAL: it is no rank.
Status check_rank(const Endpoint& endpoint, int rank);
// Rank, tag, context and flags of a send. EINVAL.
Status check_send(const Endpoint& endpoint, int to, int tag, int context, int flags);
// EINVAL: bytes nowhere.
Result<Buffer> buffer_of(const void* memory, std::size_t length);
Result<Buffer> buffer_of(const exs_iovec_t* pieces, int count);
// Null: the request does not exist, or exm_tpoll reports its end.
Request* find_waitable(Endpoint& endpoint, exm_request_t request) noexcept;
// EINVAL.
Status no_such_request(exm_request_t request);

// Context and tag, by which messages are matched.
[[nodiscard]] inline std::uint64_t bits_of(int tag, int context) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(context)} << 32U | static_cast<std::uint32_t>(tag);
}

}  // namespace exs
