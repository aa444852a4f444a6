// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/fabric.h"

#include <atomic>
#include <memory>

#include "fabric/completion_queue.h"
#include "fabric/domain.h"
#include "fabric/event_queue.h"
#include "fabric/fid.h"

namespace exs::fabric {
namespace {

class Fabric;
extern fi_ops fabric_fid_ops;
extern fi_ops_fabric fabric_ops;

class Fabric final : public Object<Fabric, fid_fabric> {
 public:
  Fabric(std::uint32_t api_version, void* context) : Object(FI_CLASS_FABRIC, fabric_fid_ops, context) {
    handle()->ops = &fabric_ops;
    handle()->api_version = api_version;
  }
};

// Tells the application whether it may sleep on these descriptors.
int try_wait(fid_fabric* /*fabric*/, fid** fids, int count) noexcept {
  return guarded([&]() -> int {
    for (int i = 0; i < count; ++i) {
      if (fids[i]->fclass == FI_CLASS_EQ) {
        if (!EventQueue::of(fids[i]).is_empty()) return -FI_EAGAIN;
      } else if (fids[i]->fclass == FI_CLASS_CQ) {
        if (!CompletionQueue::of(fids[i]).arm()) return -FI_EAGAIN;
      } else {
        return -FI_EINVAL;
      }
    }
    return 0;
  });
}

fi_ops fabric_fid_ops = fid_ops(close_object<Fabric>);

fi_ops_fabric fabric_ops = {.size = sizeof(fi_ops_fabric),
                            .domain = open_domain,
                            .passive_ep = kNotHere,
                            .eq_open = open_event_queue,
                            .wait_open = kNotHere,
                            .trywait = try_wait,
                            .domain2 = nullptr};

}  // namespace

int open_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context) {
  return guarded([&]() -> int {
    *fabric = (new Fabric(attr->api_version, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
