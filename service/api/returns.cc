// The functions of exs/service.h for memory that a service writes replies into.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

#include "exs/service.h"
#include "service/api/calls.h"
#include "service/node/node.h"

using exs::c_call;
using exs::refuse;
using exs::Result;
using exs::Status;

int exs_svc_peer_trust(exs_svc_peer_t* peer, uint32_t trust, uint64_t return_max) {
  constexpr std::size_t kReturnMax = std::size_t{64} << 20;
  return c_call([&]() -> Status {
    if (peer == nullptr || (trust & ~static_cast<uint32_t>(EXS_SVC_TRUST_WRITE)) != 0 ||
        return_max > EXS_SVC_RETURN_MAX)
      return refuse(EINVAL, "no peer, trust that means nothing, or more than EXS_SVC_RETURN_MAX");
    const bool trusts = (trust & EXS_SVC_TRUST_WRITE) != 0;
    return peer->node().trust(peer, trusts, return_max == 0 ? kReturnMax : return_max);
  });
}

void* exs_svc_return_alloc(exs_svc_peer_t* peer, size_t length) {
  // cppcheck-suppress CastIntegerToAddressAtReturn; it returns no integer
  return c_call<void*>(nullptr, [&]() -> Result<void*> {
    if (peer == nullptr || length == 0) return exs::failure(refuse(EINVAL, "no peer, or no length"));
    return peer->node().alloc_return(peer, length);
  });
}

int exs_svc_return_free(void* memory) {
  if (memory == nullptr) return 0;
  return c_call([&]() -> Status {
    const std::shared_ptr<exs::svc::ReturnArena> arena = exs::svc::ReturnArena::at(memory);
    if (arena == nullptr) return refuse(EINVAL, "it is no memory of exs_svc_return_alloc");
    const exs::LockGuard guard(arena->node_lock());
    return arena->give_back(memory);
  });
}
