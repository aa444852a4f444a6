// The meaning of accept4's errors for a listener.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstdint>

namespace exs {

// The delay before a retry after an error of the listener itself, such as a lack of descriptors or memory.
inline constexpr std::uint64_t kAcceptRetryNs = 100'000'000;

// The error concerns one peer only: the next one may be accepted.
inline bool is_peers_error(int error) noexcept {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
         error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
         error == EOPNOTSUPP || error == ENETUNREACH || error == EPERM;
}

}  // namespace exs
