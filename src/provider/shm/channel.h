// One port of ours and one port of another process (or of ours): what all links between the two share.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>

#include "src/base/unique_fd.h"
#include "src/provider/provider.h"
#include "src/provider/shm/ring.h"

namespace exs::shm {

class ShmLink;

// A region of the peer's exs_alloc memory as it is mapped here.
struct PeerRegion {
  std::byte* start = nullptr;
  std::size_t length_bytes = 0;
};

// Thread: shard.
class Channel {
 public:
  // What the rendezvous gives it: `segment` ours (written by us), `peer_segment` theirs, both mapped and checked.
  struct Parts {
    UniqueFd socket;         // connected Unix SOCK_SEQPACKET; its end is the peer process's end
    UniqueFd doorbell;       // eventfd we sleep on (in the port's epoll set, edge-triggered, never read)
    UniqueFd peer_doorbell;  // eventfd the peer sleeps on
    Mapping segment;         // ring.h: RAII of a mapped, sealed memfd
    Mapping peer_segment;
    pid_t peer_pid = 0;         // as this process sees it; 0: not visible
    bool reads_memory = false;  // process_vm_readv and writev of the peer's memory have been tried and work
    Reason why_not;             // when not
  };
  explicit Channel(Parts parts);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] RingWriter& out() noexcept { return out_; }
  [[nodiscard]] RingReader& in() noexcept { return in_; }
  [[nodiscard]] pid_t peer_pid() const noexcept { return peer_pid_; }
  [[nodiscard]] bool reads_memory() const noexcept { return reads_memory_; }
  [[nodiscard]] const Reason& why_not() const noexcept { return why_not_; }
  // Its socket has ended, or it wrote nonsense: every link on it ends with `why`; no new ones.
  void fail(Status why);
  [[nodiscard]] bool is_over() const noexcept { return over_; }

  // The name by which the peer addresses messages to the link. 0 is never given.
  std::uint32_t add(ShmLink& link);
  void remove(std::uint32_t number);
  [[nodiscard]] ShmLink* find(std::uint32_t number) const;  // null: gone, or nonsense
  [[nodiscard]] std::size_t links() const noexcept { return links_.size(); }

  // The peer is asleep and something was written: rings its doorbell (once for many writes).
  void ring_if_asleep();
  // The peer polls at this moment, or did so a moment ago.
  [[nodiscard]] bool peer_is_awake() const;
  // We are about to sleep, or look again. After arm() the caller must look at in() once more.
  void arm();
  void disarm();

  // Sends the region's memfd unless the peer has it. `key` names it to the peer from then on.
  Status announce(MemoryKey key, int shared_fd, std::size_t length_bytes);
  // The region is gone: its number must not be used any more.
  void retract(MemoryKey key);
  // The peer's region; takes in announcements that wait in the socket when it is not known yet.
  [[nodiscard]] const PeerRegion* region(std::uint32_t key);
};

}  // namespace exs::shm
