// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/peer_regions.h"

#include <cerrno>
#include <utility>

namespace exs::shm {

Status PeerRegions::map(const ReceivedPacket& shared) {
  const ControlPacket& packet = shared.packet;
  if (shared.descriptor_count != 1 || packet.length_bytes == 0) return Status(EPROTO);
  if (regions_.contains(packet.key) || regions_.size() >= kRegionsMax) return Status(EPROTO);
  if (packet.length_bytes > kBytesMax - bytes_) return {};
  Result<Mapping> mapping =
      Mapping::of_peer(shared.descriptors[0].get(), static_cast<std::size_t>(packet.length_bytes));
  if (!mapping) return mapping.error() == Status(EPROTO) ? Status(EPROTO) : Status();
  const auto shared_mapping = std::make_shared<const Mapping>(std::move(*mapping));
  const std::span<std::byte> bytes = shared_mapping->bytes();
  regions_.emplace(packet.key, View{bytes.data(), bytes.size(), shared_mapping});
  bytes_ += packet.length_bytes;
  return {};
}

void PeerRegions::unmap(std::uint32_t key) {
  const auto found = regions_.find(key);
  if (found == regions_.end()) return;
  bytes_ -= found->second.length_bytes;
  regions_.erase(found);
}

}  // namespace exs::shm
