// The peer's exs_alloc memory that is mapped here, by the peer's key.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "src/provider/shm/control_packet.h"
#include "src/provider/shm/mapping.h"

namespace exs::shm {

// Thread: shard.
class PeerRegions {
 public:
  static constexpr std::size_t kRegionsMax = 1024;  // of each end

  // A region as it is mapped here.
  struct View {
    std::byte* start = nullptr;
    std::size_t length_bytes = 0;
    std::shared_ptr<const Mapping> mapping;  // for callers that need the memory for longer
  };

  // Handles a kShareRegion. EPROTO: the peer broke the rules. A region that cannot be mapped is left out; its
  // bytes take another way.
  Status map(const ReceivedPacket& shared);
  void unmap(std::uint32_t key);
  void clear() { regions_.clear(); }
  // Null: not mapped. Valid until the next call of this class.
  [[nodiscard]] const View* find(std::uint32_t key) const {
    const auto found = regions_.find(key);
    return found == regions_.end() ? nullptr : &found->second;
  }

 private:
  static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;  // of our address space

  std::unordered_map<std::uint32_t, View> regions_;
  std::uint64_t bytes_ = 0;
};

}  // namespace exs::shm
