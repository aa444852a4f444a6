// How a process begins to listen for the others, and what it then knows of them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "src/api/listen.h"
#include "src/message/ep.h"

namespace exs {

// Longest message that travels before it is matched, whatever the provider: 32 KiB with the header of what stands on this.
inline constexpr std::uint32_t kEagerMax = 33 * 1024;

// Parses "host:port"; the host is a name, a number, or IPv6 in brackets. EINVAL: it is no address, for that
// rank.
Result<sockaddr_storage> address_of(const char* text, int rank);

// What an endpoint needs before the others are known.
struct Preparation {
  EndpointOptions options;
  std::shared_ptr<Socket> listening;  // null: a job of one
};

// `peers`: their approximate number. Null `own`: there are no others.
Result<Preparation> prepare(const Library& library, const exm_config_t& config, int peers,
                            const sockaddr_storage* own);
// The address at which the others reach it.
Result<sockaddr_storage> own_address(const Socket& listening);
Result<std::shared_ptr<Endpoint>> start(Library& library, Preparation prepared);

// Calls make(library) -> Result<exm_ep_t> between exs_init and, if that fails, exs_fini.
template <typename Make>
int create_ep(exm_ep_t* ep, Make&& make, const char* function = __builtin_FUNCTION()) noexcept {
  if (exs_init(EXS_VERSION) != 0) return -1;
  const auto body = [&](Library& library) -> Result<int> {
    if (ep == nullptr) return failure(null_argument());
    const Result<exm_ep_t> made = std::forward<Make>(make)(library);
    if (!made) return failure(made.error());
    *ep = *made;
    return 0;
  };
  if (api_call(body, function) == 0) return 0;
  const int error = errno;
  exs_fini();
  errno = error;
  return -1;
}

}  // namespace exs
