// The provider for RDMA devices: InfiniBand, RoCE and iWARP through rdma-core.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/provider/provider.h"

namespace exs::verbs {

std::unique_ptr<Provider> make_verbs_provider();

}  // namespace exs::verbs
