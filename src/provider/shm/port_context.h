// The common state of one port's channels and links.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/provider/completion_queue.h"
#include "src/provider/poller.h"
#include "src/provider/shm/settings.h"
#include "src/provider/shm/shared_regions.h"

namespace exs::shm {

class ChannelTraffic;
class ShmLink;

// Thread: shard.
struct PortContext {
  PortContext(Poller&& opened, const Settings& chosen, SharedRegions& known, RegionObserver& port)
      : settings(chosen), regions(known), region_observer(port), poller(std::move(opened)) {}

  // Null: peers cannot map this memory.
  const SharedRegion* region(MemoryKey key) {
    if (key.value == 0) return nullptr;
    if (const auto found = announced.find(key.value); found != announced.end()) return found->second.get();
    if (!regions.has(key)) return nullptr;
    region_observer.expect_regions(announced.size() + 1);
    auto& place = announced[key.value];
    place = regions.find(key, region_observer);
    if (place != nullptr) return place.get();
    announced.erase(key.value);
    return nullptr;
  }

  const Settings settings;
  SharedRegions& regions;
  RegionObserver& region_observer;
  Poller poller;
  CompletionQueue completions;
  std::uint64_t now_ns = 0;                // as last passed to progress()
  std::uint64_t arrivals = 0;              // records taken, and steps of transfers
  std::vector<ChannelTraffic*> unflushed;  // whose peers may have to be woken
  std::vector<ShmLink*> ending;            // links whose TCP connection has ended
  std::unordered_map<std::uint32_t, std::shared_ptr<const SharedRegion>> announced;  // by key, until they go
};

}  // namespace exs::shm
