// The provider for RDMA devices: InfiniBand, RoCE and iWARP through rdma-core.
#pragma once

#include <memory>

#include "src/provider/provider.h"

namespace exs::verbs {

std::unique_ptr<Provider> make_verbs_provider();

}  // namespace exs::verbs
