// The provider for RDMA devices: InfiniBand, RoCE and iWARP through rdma-core.
#pragma once

#include <memory>

#include "src/provider/provider.h"

namespace exs::verbs {

struct Settings;

// Settings from the environment (EXS_VERBS_*); see settings.h.
std::unique_ptr<Provider> make_verbs_provider();
std::unique_ptr<Provider> make_verbs_provider(const Settings& settings);

}  // namespace exs::verbs
