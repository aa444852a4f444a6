// The lock of a shard (design notes in event/engine/shard.h), and with it all locks of the library.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/biased_lock.h"
#include "base/locks.h"

namespace exs {

// Its holder may touch the shard.
using DriveLock = BiasedLock<LockWait::kAsleep>;

}  // namespace exs
