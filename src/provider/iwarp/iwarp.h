// The embedded default provider: a software RNIC that speaks iWARP (MPA v2, DDP, RDMAP) over TCP.
// Environment: EXS_IWARP_CRC=1 asks every peer for CRC32c; EXS_IWARP_BACKEND=io_uring|epoll forces a backend.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/provider/provider.h"

namespace exs::iwarp {

std::unique_ptr<Provider> make_iwarp_provider();

}  // namespace exs::iwarp
