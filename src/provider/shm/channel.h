// A port of ours and a port of another process (or of ours), and what all links between the two share.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_set>

#include "base/fifo.h"
#include "base/unique_fd.h"
#include "src/provider/poller.h"
#include "src/provider/provider.h"
#include "src/provider/shm/control_packet.h"
#include "src/provider/shm/link_table.h"
#include "src/provider/shm/peer_regions.h"
#include "src/provider/shm/peer_socket.h"
#include "src/provider/shm/ring.h"

namespace exs::shm {

// Thread: shard.
class Channel final : public Pollable {
 public:
  // The result of the set-up: `segment` is ours (we write it), `peer_segment` is the peer's. Both are mapped
  // and checked.
  struct Parts {
    PeerSocket socket;       // connected Unix SOCK_SEQPACKET; its end is the peer process's end
    UniqueFd doorbell;       // eventfd we sleep on (in the port's epoll set, edge-triggered, never read)
    UniqueFd peer_doorbell;  // eventfd the peer sleeps on; invalid: woken by a packet
    UniqueFd peer_pidfd;     // invalid: the peer is this process, or not visible
    Mapping segment;
    Mapping peer_segment;
    pid_t peer_pid = 0;         // as this process sees it; 0: not visible
    bool reads_memory = false;  // process_vm_readv and writev of the peer's memory have been tried and work
    Reason why_not;             // when not
    bool accepted = false;      // the peer connected to us, so it has to prove an invitation
    RandomId peer_socket{};     // the listening socket to which we connected
  };

  // `poller` outlives it.
  Channel(Poller& poller, Parts parts);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // Call it once, first: joins the epoll set.
  Status start();

  [[nodiscard]] RingWriter& out() noexcept { return out_; }
  [[nodiscard]] RingReader& in() noexcept { return in_; }
  [[nodiscard]] const RingReader& in() const noexcept { return in_; }
  // Whole, for what lies beside the rings.
  [[nodiscard]] std::span<std::byte> segment() const noexcept { return parts_.segment.bytes(); }
  [[nodiscard]] std::span<std::byte> peer_segment() const noexcept { return parts_.peer_segment.bytes(); }
  [[nodiscard]] pid_t peer_pid() const noexcept { return parts_.peer_pid; }
  [[nodiscard]] bool reads_memory() const noexcept { return parts_.reads_memory; }
  [[nodiscard]] const Reason& why_not() const noexcept { return parts_.why_not; }
  [[nodiscard]] bool accepted() const noexcept { return parts_.accepted; }
  [[nodiscard]] const RandomId& peer_socket() const noexcept { return parts_.peer_socket; }

  // The socket or the peer has ended, or the peer broke the rules. Nothing is sent any more. The ring's
  // remaining records can still be read; then every link on the channel ends with `why`.
  void end(Status why);
  [[nodiscard]] bool is_over() const noexcept { return !status_.ok(); }
  [[nodiscard]] Status status() const noexcept { return status_; }
  // False: no process has the number peer_pid(), or another one may have it.
  [[nodiscard]] bool peer_process_lives() const;
  // The peer's process is dead, or has left the channel: it touches our memory no more. This is not the
  // opposite of the above, which needs a process that can be named.
  [[nodiscard]] bool peer_is_gone() const;

  [[nodiscard]] LinkTable& links() noexcept { return links_; }
  [[nodiscard]] const LinkTable& links() const noexcept { return links_; }
  // Reserves a number in links(). ECONNRESET: the channel is over.
  Result<std::uint32_t> reserve_link();

  // The peer is asleep and something was written: rings its doorbell (once for many writes).
  void wake_peer_if_asleep() {
    if (out_.must_wake_reader()) wake_peer();
  }
  // Rings whether or not: the ring says that the peer waits for room.
  void wake_peer();
  // The peer polls at this moment, or did so a moment ago.
  [[nodiscard]] bool peer_is_awake() const { return !out_.reader_is_asleep(); }
  // We are about to sleep, or poll again. After arm() the caller must look at in() once more.
  void arm() {
    if (in_.fall_asleep()) wake_peer();
  }
  void disarm() { in_.wake_up(); }

  // Sends the region's memfd unless the peer has it. `key` names it to the peer from then on. EAGAIN: not
  // now.
  Status announce(MemoryKey key, int shared_fd, std::size_t length_bytes);
  // The region has gone: its number is invalid from now on.
  void retract(MemoryKey key);
  // The peer's region; receives announcements that wait in the socket when it is not known yet. Good until
  // the next call of this class.
  [[nodiscard]] const PeerRegions::View* region(std::uint32_t key);

  // Sends now or as soon as there is room. The channel ends where the peer lets too many pile up.
  void send(const ControlPacket& packet);
  // The oldest packet for the directory (kJoin, kJoined, kJoinRefused, kRefusal), also when the channel is
  // over. False: none.
  bool take_packet(ControlPacket& packet);
  [[nodiscard]] bool has_packets() const noexcept { return !received_.empty(); }

  // Pollable: the socket.
  void ready(std::uint32_t events) override;

 private:
  static constexpr std::size_t kReceivedMax = 256;
  static constexpr std::size_t kUnsentMax = 4096;

  // An event of the doorbell has done its work when it has ended the port's sleep: the port looks at the
  // rings then.
  class Doorbell final : public Pollable {
   public:
    void ready(std::uint32_t) override {}
  };
  class PeerExit final : public Pollable {
   public:
    explicit PeerExit(Channel& channel) noexcept : channel_(channel) {}
    void ready(std::uint32_t) override { channel_.end(Status(ECONNRESET)); }

   private:
    Channel& channel_;
  };

  void read_socket();
  void take_packets();
  Status handle_packet(ReceivedPacket& received);
  void send_unsent();
  void watch_socket();

  Poller& poller_;
  Parts parts_;
  RingWriter out_;
  RingReader in_;
  Status status_;
  Doorbell doorbell_;
  PeerExit peer_exit_{*this};
  std::uint32_t watched_ = 0;
  LinkTable links_;
  std::unordered_set<std::uint32_t> announced_;
  PeerRegions peer_regions_;
  Fifo<ControlPacket> received_;  // for the directory
  Fifo<ControlPacket> unsent_;
};

}  // namespace exs::shm
