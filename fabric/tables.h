// The functions of an endpoint, as libfabric calls them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

namespace exs::fabric {

extern fi_ops endpoint_fid_ops;
extern fi_ops_ep endpoint_ops;
extern fi_ops_cm name_ops;
extern fi_ops_msg message_ops;
extern fi_ops_tagged tagged_ops;

// Operations that are not offered.
extern fi_ops_rma no_rma_ops;
extern fi_ops_atomic no_atomic_ops;
extern fi_ops_collective no_collective_ops;

}  // namespace exs::fabric
