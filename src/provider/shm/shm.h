// The same-host provider: rings in shared memory for messages, plain copies for RDMA.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/provider/provider.h"

namespace exs::shm {

struct Settings;

// Settings from the environment (EXS_SHM_*); see settings.h.
std::unique_ptr<Provider> make_shm_provider();
std::unique_ptr<Provider> make_shm_provider(const Settings& settings);

}  // namespace exs::shm
