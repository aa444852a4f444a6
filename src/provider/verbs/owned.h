// Objects of a device that end with their owner.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace exs::verbs {

struct MemoryRegionCloser {
  void operator()(ibv_mr* region) const noexcept { ::ibv_dereg_mr(region); }
};
using MemoryRegion = std::unique_ptr<ibv_mr, MemoryRegionCloser>;

struct CqCloser {
  void operator()(ibv_cq* queue) const noexcept { ::ibv_destroy_cq(queue); }
};
using OwnedCq = std::unique_ptr<ibv_cq, CqCloser>;

}  // namespace exs::verbs
