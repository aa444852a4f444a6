// The fabric: there is one, which has domains and event queues.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

namespace exs::fabric {

int open_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context);

}  // namespace exs::fabric
