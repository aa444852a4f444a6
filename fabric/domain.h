// A domain: the owner of endpoints, queues, counters and address vectors. It has no state, because exs has none beside its endpoints, and
// memory needs no registration.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

namespace exs::fabric {

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);

}  // namespace exs::fabric
