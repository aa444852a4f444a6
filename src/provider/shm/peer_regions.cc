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
  bytes_ += packet.length_bytes;
  const View view{mapping->bytes().data(), mapping->bytes().size()};
  regions_.emplace(packet.key, Mapped{std::move(*mapping), view});
  return {};
}

void PeerRegions::unmap(std::uint32_t key) {
  const auto found = regions_.find(key);
  if (found == regions_.end()) return;
  bytes_ -= found->second.view.length_bytes;
  regions_.erase(found);
}

}  // namespace exs::shm
