// READ and WRITE directly in the peer's memory: mapped here, or by system call. transfer_words.h explains why
// no byte reaches the memory of a closed link.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/mapped_memory.h"
#include "base/status.h"
#include "src/provider/shm/transfer_words.h"

namespace exs::shm {

class Channel;

// The longest access in one go, by either method: others of the shard, and an end that closes a link, wait no
// longer.
inline constexpr std::size_t kAccessBytes = std::size_t{1} << 20;

// Thread: shard.
class PeerMemory {
 public:
  // Our own memory of a longer copy is looked at first. A shorter copy costs hardly more than the look.
  static constexpr std::size_t kCheckedBytes = std::size_t{64} * 1024;
  [[nodiscard]] static bool is_gone(std::span<const std::byte> ours) {
    return ours.size() > kCheckedBytes && !is_still_mapped(ours);
  }

  PeerMemory(Channel& channel, std::span<std::byte> segment, std::span<std::byte> peer_segment);

  enum class Method : std::uint8_t { kMapped, kProcess, kNone };
  // How `length_bytes` from `address` can be had. kNone: by pieces alone.
  [[nodiscard]] Method method_for(std::uint64_t address, std::uint64_t length_bytes);
  struct Moved {
    std::size_t bytes = 0;
    // EAGAIN: a link of the peer has closed; handle its records first. EOPNOTSUPP: this method works no
    // longer. EPROTO: no such memory. ECONNRESET: no such process. EFAULT: our own memory is not mapped any
    // more.
    Status status;
  };
  // Moves at most kAccessBytes. `link`: the peer's number of the link that owns the window.
  Moved read(std::uint32_t link, std::span<std::byte> into, std::uint64_t address);
  Moved write(std::uint32_t link, std::span<const std::byte> from, std::uint64_t address);

  // The peer said in its ring that a link of its own is gone.
  void link_gone() noexcept { ++closings_known_; }
  // A link of ours is gone: from its return the peer does not access its memory. ETIMEDOUT: the peer stopped
  // in the middle of an access.
  Status close(std::uint32_t our_link);

 private:
  class Access;
  Moved move(std::uint32_t link, std::byte* ours, std::size_t length_bytes, std::uint64_t address,
             bool to_peer);
  Moved move_mapped(std::byte* ours, std::size_t length_bytes, std::uint64_t address, bool to_peer);
  Moved move_by_process(std::byte* ours, std::size_t length_bytes, std::uint64_t address, bool to_peer);
  [[nodiscard]] bool process_lives();

  Channel& channel_;
  TransferWords& ours_;
  TransferWords& theirs_;
  bool reads_memory_;
  std::uint64_t closings_known_ = 0;
  std::uint64_t checked_ns_ = 0;  // that the process lives
};

}  // namespace exs::shm
