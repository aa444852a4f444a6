// The functions of exs/service.h for memory that a service writes replies into.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "exs/service.h"
#include "service/api/calls.h"
#include "service/node/node.h"

using exs::svc::guarded;
using exs::svc::refuse;

int exs_svc_peer_trust(exs_svc_peer_t* peer, uint32_t trust, uint64_t return_max) {
  if (peer == nullptr || (trust & ~static_cast<uint32_t>(EXS_SVC_TRUST_WRITE)) != 0 ||
      return_max > EXS_SVC_RETURN_MAX)
    return refuse(EINVAL,
                  "exs_svc_peer_trust: no peer, trust that means nothing, or more than EXS_SVC_RETURN_MAX");
  constexpr std::size_t kReturnMax = std::size_t{64} << 20;
  return guarded(-1, [&] {
    const bool trusts = (trust & EXS_SVC_TRUST_WRITE) != 0;
    const int error = peer->node().trust(peer, trusts, return_max == 0 ? kReturnMax : return_max);
    return error == 0
               ? 0
               : refuse(error, "exs_svc_peer_trust: the peer has memory of exs_svc_return_alloc already");
  });
}

void* exs_svc_return_alloc(exs_svc_peer_t* peer, size_t length) {
  if (peer == nullptr || length == 0) {
    refuse(EINVAL, "exs_svc_return_alloc: no peer, or no length");
    return nullptr;
  }
  return guarded<void*>(nullptr, [&]() -> void* {
    void* memory = nullptr;
    const int error = peer->node().alloc_return(peer, length, memory);
    if (error != 0)
      refuse(error, "exs_svc_return_alloc: %s",
             error == EPERM     ? "its service is not trusted: exs_svc_peer_trust() says that it is"
             : error == ENOBUFS ? "there is no gap as long in what exs_svc_peer_trust() allows"
                                : std::strerror(error));
    return memory;
  });
}

int exs_svc_return_free(void* memory) {
  if (memory == nullptr) return 0;
  return guarded(-1, [&] {
    const std::shared_ptr<exs::svc::ReturnArena> arena = exs::svc::ReturnArena::at(memory);
    if (arena == nullptr)
      return refuse(EINVAL, "exs_svc_return_free: it is no memory of exs_svc_return_alloc");
    const std::lock_guard guard(arena->node_lock());
    const int error = arena->give_back(memory);
    if (error == 0) return 0;
    return refuse(error, "exs_svc_return_free: %s",
                  error == EBUSY ? "a request that has not ended names it"
                                 : "no memory of exs_svc_return_alloc begins there");
  });
}
