// What the errors of accept4 mean for a listener.
#pragma once

#include <cerrno>
#include <cstdint>

namespace exs {

// After one of the listener's own, such as a want of descriptors or memory: try again then.
inline constexpr std::uint64_t kAcceptRetryNs = 100'000'000;

// It concerns one peer only: the next one may be accepted.
inline bool is_peers_error(int error) noexcept {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
         error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
         error == EOPNOTSUPP || error == ENETUNREACH || error == EPERM;
}

}  // namespace exs
