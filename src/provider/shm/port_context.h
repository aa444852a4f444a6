// What the channels and links of one port share.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/poller.h"
#include "src/provider/shm/regions.h"
#include "src/provider/shm/settings.h"
#include "src/provider/completion_queue.h"

namespace exs::shm {

class Exchange;
class ShmLink;

// Thread: shard.
struct PortContext {
  PortContext(Poller&& opened, const Settings& chosen, Regions& known, RegionUser& port)
      : settings(chosen), regions(known), region_user(port), poller(std::move(opened)) {}

  // Null: not memory that peers can map.
  const Region* region(MemoryKey key) {
    if (key.value == 0) return nullptr;
    if (const auto found = announced.find(key.value); found != announced.end()) return found->second.get();
    auto region = regions.find(key, region_user);
    return region == nullptr ? nullptr : announced.emplace(key.value, std::move(region)).first->second.get();
  }

  const Settings settings;
  Regions& regions;
  RegionUser& region_user;
  Poller poller;
  CompletionQueue completions;
  std::uint64_t now_ns = 0;      // as progress() was told last
  std::uint64_t arrivals = 0;    // records taken
  std::vector<Exchange*> wrote;  // peers that may have to be rung
  std::vector<ShmLink*> ending;  // links whose TCP connection has ended
  std::unordered_map<std::uint32_t, std::shared_ptr<const Region>> announced;  // by key, until they go
};

}  // namespace exs::shm
