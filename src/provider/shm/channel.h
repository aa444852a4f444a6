// One port of ours and one port of another process (or of ours): what all links between the two share.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/base/fifo.h"
#include "src/base/poller.h"
#include "src/base/unique_fd.h"
#include "src/provider/provider.h"
#include "src/provider/shm/note.h"
#include "src/provider/shm/ring.h"

namespace exs::shm {

class ShmLink;

// A region of the peer's exs_alloc memory as it is mapped here.
struct PeerRegion {
  std::byte* start = nullptr;
  std::size_t length_bytes = 0;
};

// Thread: shard.
class Channel final : public Pollable {
 public:
  // What the set-up gives it: `segment` ours (written by us), `peer_segment` theirs, both mapped and checked.
  struct Parts {
    UniqueFd socket;         // connected Unix SOCK_SEQPACKET; its end is the peer process's end
    UniqueFd doorbell;       // eventfd we sleep on (in the port's epoll set, edge-triggered, never read)
    UniqueFd peer_doorbell;  // eventfd the peer sleeps on; invalid: rung by a note
    UniqueFd peer_pidfd;     // invalid: the peer is this process, or not visible
    Mapping segment;
    Mapping peer_segment;
    pid_t peer_pid = 0;         // as this process sees it; 0: not visible
    bool reads_memory = false;  // process_vm_readv and writev of the peer's memory have been tried and work
    Reason why_not;             // when not
    bool accepted = false;      // the peer connected to us, so it has to prove an invitation
    Name rendezvous{};          // to which we connected
  };

  // `poller` outlives it.
  Channel(Poller& poller, Parts parts);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // Once, before anything else: into the epoll set.
  Status start();

  [[nodiscard]] RingWriter& out() noexcept { return out_; }
  [[nodiscard]] RingReader& in() noexcept { return in_; }
  // Whole, for what lies beside the rings.
  [[nodiscard]] std::span<std::byte> segment() const noexcept { return parts_.segment.bytes(); }
  [[nodiscard]] std::span<std::byte> peer_segment() const noexcept { return parts_.peer_segment.bytes(); }
  [[nodiscard]] pid_t peer_pid() const noexcept { return parts_.peer_pid; }
  [[nodiscard]] bool reads_memory() const noexcept { return parts_.reads_memory; }
  [[nodiscard]] const Reason& why_not() const noexcept { return parts_.why_not; }
  [[nodiscard]] bool accepted() const noexcept { return parts_.accepted; }
  [[nodiscard]] const Name& rendezvous() const noexcept { return parts_.rendezvous; }

  // Its socket or its peer has ended, or the peer wrote nonsense: nothing is sent any more, but what is in
  // the ring can still be read, and then every link on it ends with `why`.
  void end(Status why);
  [[nodiscard]] bool is_over() const noexcept { return !status_.ok(); }
  [[nodiscard]] Status status() const noexcept { return status_; }
  // False: peer_pid() is nobody, or may be somebody else.
  [[nodiscard]] bool peer_process_lives() const;
  // Its process is dead, or has left the channel: it touches no memory of ours any more. Not the opposite of
  // the above, which needs a process that can be named.
  [[nodiscard]] bool peer_is_gone() const;

  // The name by which the peer addresses messages to a link of ours; never 0. ENOSPC: too many.
  Result<std::uint32_t> reserve();
  void attach(std::uint32_t number, ShmLink& link);
  void remove(std::uint32_t number);
  // Null: gone, only reserved, or nonsense.
  [[nodiscard]] ShmLink* find(std::uint32_t number) const noexcept {
    const std::uint32_t index = number & kIndexMask;
    return index < slots_.size() && slots_[index].number == number ? slots_[index].link : nullptr;
  }
  [[nodiscard]] bool is_reserved(std::uint32_t number) const noexcept;
  [[nodiscard]] std::size_t numbers() const noexcept { return numbers_; }
  // `visit` may remove the link.
  template <typename Visit>
  void for_each_link(Visit visit) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].link != nullptr) visit(*slots_[i].link);
    }
  }

  // The peer is asleep and something was written: rings its doorbell (once for many writes).
  void ring_if_asleep() {
    if (out_.must_wake_reader()) ring();
  }
  // Rings whether or not: the ring says that the peer waits for room.
  void ring();
  // The peer polls at this moment, or did so a moment ago.
  [[nodiscard]] bool peer_is_awake() const { return !out_.reader_is_asleep(); }
  // We are about to sleep, or look again. After arm() the caller must look at in() once more.
  void arm() {
    if (in_.fall_asleep()) ring();
  }
  void disarm() { in_.wake_up(); }

  // Sends the region's memfd unless the peer has it. `key` names it to the peer from then on. EAGAIN: not
  // now.
  Status announce(MemoryKey key, int shared_fd, std::size_t length_bytes);
  // The region is gone: its number must not be used any more.
  void retract(MemoryKey key);
  // The peer's region; takes in announcements that wait in the socket when it is not known yet. Good until
  // the next call of this class.
  [[nodiscard]] const PeerRegion* region(std::uint32_t key);

  // Sends now or as soon as there is room. The channel ends where the peer lets too many pile up.
  void tell(const Note& note);
  // The oldest note for the rendezvous (kJoin, kJoined, kNotJoined, kRefusal), also when the channel is over.
  // False: none.
  bool take_note(Note& note);
  [[nodiscard]] bool has_notes() const noexcept { return !notes_.empty(); }

  // Pollable: the socket.
  void ready(std::uint32_t events) override;

 private:
  static constexpr int kIndexBits = 20;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr std::size_t kRegionsMax = 1024;
  static constexpr std::uint64_t kRegionBytesMax = std::uint64_t{1} << 40;  // of our address space
  static constexpr std::size_t kNotesMax = 256;
  static constexpr std::size_t kUnsentMax = 4096;

  struct Slot {
    std::uint32_t number = 0;  // what it is called now: generation, index; 0: free
    std::uint32_t generation = 0;
    ShmLink* link = nullptr;
  };
  // Tells that the doorbell rang, which is all it does: the port looks at the rings after it has slept.
  class Bell final : public Pollable {
   public:
    void ready(std::uint32_t) override {}
  };
  class Death final : public Pollable {
   public:
    explicit Death(Channel& channel) noexcept : channel_(channel) {}
    void ready(std::uint32_t) override { channel_.end(Status(ECONNRESET)); }

   private:
    Channel& channel_;
  };

  void read_socket();
  Status take_in(ReceivedNote& received);
  Status take_region(ReceivedNote& received);
  void send_unsent();
  void watch_socket();

  Poller& poller_;
  Parts parts_;
  RingWriter out_;
  RingReader in_;
  Status status_;
  Bell bell_;
  Death death_{*this};
  std::uint32_t watched_ = 0;
  std::vector<Slot> slots_{1};  // the first is never given
  std::vector<std::uint32_t> free_;
  std::size_t numbers_ = 0;
  std::unordered_set<std::uint32_t> announced_;
  struct MappedRegion {
    Mapping mapping;
    PeerRegion view;
  };
  std::unordered_map<std::uint32_t, MappedRegion> regions_;
  std::uint64_t region_bytes_ = 0;
  Fifo<Note> notes_;
  Fifo<Note> unsent_;
};

}  // namespace exs::shm
