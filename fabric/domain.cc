// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/domain.h"

#include <atomic>

#include "fabric/address_vector.h"
#include "fabric/completion_queue.h"
#include "fabric/counter.h"
#include "fabric/endpoint.h"
#include "fabric/fid.h"
#include "fabric/offer.h"

namespace exs::fabric {
namespace {

extern fi_ops domain_fid_ops;
extern fi_ops_domain domain_ops;
extern fi_ops_mr memory_ops;
extern fi_ops memory_fid_ops;

class Domain final : public Object<Domain, fid_domain> {
 public:
  explicit Domain(void* context) : Object(FI_CLASS_DOMAIN, domain_fid_ops, context) {
    handle()->ops = &domain_ops;
    handle()->mr = &memory_ops;
  }
};

// Registered memory: exs needs none here, but applications register it for other providers.
class RegisteredMemory final : public Object<RegisteredMemory, fid_mr> {
 public:
  RegisteredMemory(std::uint64_t key, void* context) : Object(FI_CLASS_MR, memory_fid_ops, context) {
    handle()->mem_desc = nullptr;
    handle()->key = key;
  }
};

// Remote access to memory is useless without FI_RMA.
constexpr std::uint64_t kAccess = FI_SEND | FI_RECV;

int register_memory(std::uint64_t access, std::uint64_t key, std::uint64_t flags, fid_mr** memory,
                    void* context) {
  if ((access & ~kAccess) != 0) return -FI_EOPNOTSUPP;
  if (flags != 0) return -FI_EBADFLAGS;
  return guarded([&]() -> int {
    *memory = (new RegisteredMemory(key, context))->handle();
    return 0;
  });
}

int register_one(fid* /*domain*/, const void* /*buffer*/, std::size_t /*bytes*/, std::uint64_t access,
                 std::uint64_t /*offset*/, std::uint64_t key, std::uint64_t flags, fid_mr** memory,
                 void* context) {
  return register_memory(access, key, flags, memory, context);
}

int register_several(fid* /*domain*/, const iovec* /*pieces*/, std::size_t count, std::uint64_t access,
                     std::uint64_t /*offset*/, std::uint64_t key, std::uint64_t flags, fid_mr** memory,
                     void* context) {
  if (count > kPiecesMax) return -FI_EINVAL;
  return register_memory(access, key, flags, memory, context);
}

int register_as(fid* /*domain*/, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** memory) {
  if (attr->iov_count > kPiecesMax || attr->iface != FI_HMEM_SYSTEM) return -FI_EINVAL;
  return register_memory(attr->access, attr->requested_key, flags, memory, attr->context);
}

int open_endpoint_with(fid_domain* domain, fi_info* info, fid_ep** ep, std::uint64_t flags, void* context) {
  if (flags != 0) return -FI_EBADFLAGS;
  return open_endpoint(domain, info, ep, context);
}

fi_ops domain_fid_ops = fid_ops(close_object<Domain>);

fi_ops memory_fid_ops = fid_ops(close_object<RegisteredMemory>);

fi_ops_mr memory_ops = {
    .size = sizeof(fi_ops_mr), .reg = register_one, .regv = register_several, .regattr = register_as};

fi_ops_domain domain_ops = {.size = sizeof(fi_ops_domain),
                            .av_open = open_address_vector,
                            .cq_open = open_completion_queue,
                            .endpoint = open_endpoint,
                            .scalable_ep = kNotHere,
                            .cntr_open = open_counter,
                            .poll_open = kNotHere,
                            .stx_ctx = kNotHere,
                            .srx_ctx = kNotHere,
                            .query_atomic = kNotHere,
                            .query_collective = kNotHere,
                            .endpoint2 = open_endpoint_with};

}  // namespace

int open_domain(fid_fabric* /*fabric*/, fi_info* /*info*/, fid_domain** domain, void* context) {
  return guarded([&]() -> int {
    *domain = (new Domain(context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
