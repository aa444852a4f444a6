// A domain: what endpoints, queues, counters and address vectors belong to. It needs nothing of its own, as exs keeps no state
// beside its endpoints; memory needs no registration.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

namespace exs::fabric {

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);

}  // namespace exs::fabric
