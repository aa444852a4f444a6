// SPDX-License-Identifier: BSD-2-Clause
#include "base/check.h"
#include "sockets/preload/transfer/transfer.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sockets/between/between.h"
#include "sockets/preload/detach/killed.h"
#include "sockets/preload/ends/ends.h"
#include "sockets/preload/ends/reset.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/meeting/meeting.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/slot_settings.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/transfer/outcome.h"

namespace exs::sockets {
namespace {

// Overflow of the ring goes to TCP in such pieces, so that a ring that was read meanwhile is used again.
constexpr std::size_t kTcpPiece = std::size_t{8} << 10;

// The lane's segment. Null: the number belongs to something else now, or the lane is gone. The caller holds
// one of the slot's locks.
Segment* segment_of(int number, std::uint32_t index) noexcept {
  return slot_of(number) == index ? share_of(index).segment.load() : nullptr;
}

// Begins a send by TCP.
long begin_tcp(int number, std::uint32_t index, FamilySlot& slot) noexcept EXS_REQUIRES(slot.sending) {
  Segment* const segment = segment_of(number, index);
  if (segment == nullptr) return ++slot.sender.in_tcp, 0;
  Wire wire(slot, number, 0);
  return sender_of(slot, *segment, wire).begin_tcp();
}
void end_tcp(int number, std::uint32_t index, FamilySlot& slot) noexcept EXS_REQUIRES(slot.sending) {
  Segment* const segment = segment_of(number, index);
  if (segment == nullptr) return static_cast<void>(--slot.sender.in_tcp);
  Wire wire(slot, number, 0);
  sender_of(slot, *segment, wire).end_tcp();
}

// A send of the program. It holds the slot's lock for sending between its steps.
class Sending {
 public:
  Sending(int number, std::uint32_t index, Parts& parts, int flags) noexcept
      : number_(number),
        index_(index),
        slot_(slot_at(index)),
        parts_(parts),
        flags_(flags),
        lock_(slot_.sending) {}

  ssize_t run() noexcept {
    if (!lock_.held())
      // A signal handler has interrupted a send of this connection.
      return fail(EAGAIN);
    slot_.sending.assert_held();
    while (parts_.left() > 0) {
      const long result = step();
      if (result <= 0) return outcome(slot_, total_, result);
    }
    return static_cast<ssize_t>(total_);
  }

 private:
  // Positive: continue; 0: done for now; or a negative errno.
  long step() noexcept EXS_REQUIRES(slot_.sending) {
    Segment* const segment = segment_of(number_, index_);
    if (segment == nullptr) return to_tcp(SSIZE_MAX);
    Wire wire(slot_, number_, flags_);
    LaneSender sender = sender_of(slot_, *segment, wire);
    if (waits_for_more()) {
      turn(sender, Why::kHeldBack);
      const long ended = await_turn();
      return ended > 0 ? to_tcp(SSIZE_MAX) : ended;
    }
    if (sender.is_open()) return step_in_ring(sender, *segment);
    const long ended = await_turn();
    if (ended <= 0) return ended;
    if (slot_.sender.final) restore_tcp_options(slot_, number_);  // the peer has left
    if (sender.may_open() && !has_seen_end(slot_) && has_room_for_bells()) {
      if (is_disproved(slot_)) return leave_for_good(sender, Why::kRedirected);
      if (!is_proven(slot_)) return to_tcp(kTcpPiece, true);
      if (sender.open()) {
        slot_.turned_for.store(Why::kNone, std::memory_order_relaxed);
        is_new_stretch_ = true;
        return 1;
      }
    }
    return to_tcp(slot_.sender.final ? SSIZE_MAX : kTcpPiece);
  }

  long step_in_ring(LaneSender& sender, Segment& segment) noexcept EXS_REQUIRES(slot_.sending) {
    const std::uint64_t now = monotonic_ns();
    if (sender.peer_closed() || has_seen_end(slot_) || is_peer_gone(sender, segment, now)) {
      note_dead_peer(number_, slot_, segment);
      return leave_for_good(sender, Why::kEnded);
    }
    if (sender.peer_left()) return told(sender.take_back(), sender);
    std::size_t room = sender.room();
    if (room == 0) room = await_room(sender);
    if (room == 0) {
      slot_.counters.turns.fetch_add(1, std::memory_order_relaxed);
      if (is_new_stretch_)
        // An honest peer leaves an empty ring.
        return leave_for_good(sender, Why::kBroken);
      turn(sender, Why::kRingFull);
      return 1;
    }
    is_new_stretch_ = false;
    const std::size_t count = std::min(room, limit_of_piece());
    outgoing(slot_, segment).put_ns.store(now);
    if (room == slot_.lane.capacity) begin_anew(segment, now);
    const long result = sender.put(parts_, count);
    if (result < 0) return told(result, sender);
    slot_.counters.ring_sent.fetch_add(count, std::memory_order_relaxed);
    total_ += count;
    force_turn(sender);
    return 1;
  }

  // Bytes enter the empty ring. Memory that a slow reader made the ring use is returned once the reader has
  // caught up.
  void begin_anew(Segment& segment, std::uint64_t now) noexcept EXS_REQUIRES(slot_.sending) {
    constexpr std::uint64_t kOverNs = 100'000'000;
    constexpr std::size_t kKept = std::size_t{256} << 10;
    lane::SenderState& state = slot_.sender;
    const std::uint64_t before = outgoing(slot_, segment).filled_ns.load();
    outgoing(slot_, segment).filled_ns.store(now);
    slot_.ring_touched = std::max<std::uint64_t>(
        slot_.ring_touched, std::min<std::uint64_t>(state.written - state.start, slot_.lane.capacity));
    if (slot_.ring_touched <= kKept || now - before < kOverNs || share_of(index_).link.load() != nullptr)
      return;
    raw::sys(SYS_madvise, segment.ring(!slot_.is_caller, slot_.lane.capacity) + kKept,
             slot_.lane.capacity - kKept, MADV_REMOVE);
    slot_.ring_touched = 0;
  }

  // TCP reports in the next step what the ring does not accept.
  long told(long result, LaneSender& sender) noexcept {
    if (result != -EPROTO) return result < 0 ? result : 1;
    sender.finish();
    reset_connection(slot_, number_, "the peer says that it has read what was never sent");
    return 1;
  }

  // The kernel must hold these bytes and the following ones together.
  [[nodiscard]] bool waits_for_more() const noexcept {
    return (flags_ & MSG_MORE) != 0 || slot_.options.holds_more.load();
  }
  // Bytes that TCP has not delivered fill the small buffer. Bells would find no room there while the peer
  // does not read.
  [[nodiscard]] bool has_room_for_bells() const noexcept {
    constexpr int kUndelivered = 2 * 1024;
    int bytes = 0;
    return raw::sys(SYS_ioctl, number_, SIOCOUTQ, &bytes) == 0 && bytes <= kUndelivered;
  }
  // The stretch must end at the other host before a byte follows it by TCP. Returns a positive number or a
  // negative errno.
  [[nodiscard]] long await_turn() const noexcept {
    between::HostLink* const link = share_of(index_).link.load();
    if (link == nullptr) return 1;
    constexpr int kMomentMs = 20;
    const int ended = between::await_turn(*link, may_wait(number_, flags_) ? -1 : kMomentMs);
    if (ended > 0) return 1;
    if (ended == 0) return -EAGAIN;
    if (ended == -1 && !is_established(number_)) return 1;  // the kernel reports the cause
    reset_connection(slot_, number_, "the path between the hosts broke while bytes were on it");
    return -ECONNRESET;
  }

  // A killed peer reads no more. If it was waiting, it leaves no unread bytes, and TCP answers the bell as it
  // would answer the bytes. But bytes behind the bell, for which the ring had no room, would meet that
  // answer.
  [[nodiscard]] bool is_peer_gone(const LaneSender& sender, Segment& segment, std::uint64_t now) noexcept
      EXS_REQUIRES(slot_.sending) {
    constexpr std::uint64_t kEveryNs = 20'000;
    if (sender.peer_waits() && parts_.left() <= std::min(sender.room(), limit_of_piece())) return false;
    const std::uint64_t put = incoming(slot_, segment).put_ns.load();
    if (now - slot_.checked_ns < kEveryNs || now - put < kEveryNs) return false;
    slot_.checked_ns = now;
    if (is_established(number_)) return false;
    note_end(slot_);
    return true;
  }
  [[nodiscard]] std::size_t limit_of_piece() const noexcept {
    const std::uint32_t every = settings_of(slot_).turn_every;
    return every == 0 ? parts_.left() : std::min<std::size_t>(parts_.left(), every);
  }
  // Tests force frequent changes of lane.
  void force_turn(LaneSender& sender) noexcept EXS_REQUIRES(slot_.sending) {
    const std::uint32_t every = settings_of(slot_).turn_every;
    if (every == 0 || slot_.sender.written - slot_.sender.start < every) return;
    slot_.counters.turns.fetch_add(1, std::memory_order_relaxed);
    turn(sender, Why::kRingFull);
  }

  // The next bytes go by TCP.
  void turn(LaneSender& sender, Why why) noexcept {
    slot_.turned_for.store(why, std::memory_order_relaxed);
    sender.turn();
  }
  long leave_for_good(LaneSender& sender, Why why) noexcept {
    if (slot_.why.load() == Why::kNone) slot_.why.store(why);
    sender.finish();
    return 1;
  }

  // An active reader makes room within moments.
  [[nodiscard]] std::size_t await_room(const LaneSender& sender) const noexcept EXS_REQUIRES(slot_.sending) {
    if (between::HostLink* const link = share_of(index_).link.load()) {
      // A turn costs a round trip; an active reader makes room sooner.
      constexpr int kPatienceMs = 200;
      constexpr int kMomentMs = 5;
      between::await_room(*link, slot_.sender.written - slot_.lane.capacity,
                          may_wait(number_, flags_) ? kPatienceMs : kMomentMs);
      return sender.room();
    }
    const SocketsSettings& settings = settings_of(slot_);
    if (settings.spin_us == 0 && !settings.spin_auto) return 0;
    const SpinLimit limit(kRoomPatienceNs);
    do {
      if (const std::size_t room = sender.room(); room > 0) return room;
    } while (limit.goes_on());
    return 0;
  }
  static constexpr std::uint64_t kRoomPatienceNs = 50'000;

  // The kernel's own send of the next bytes, without the lock. `is_watched`: their arrival is checked.
  long to_tcp(std::size_t limit, bool is_watched = false) noexcept
      EXS_REQUIRES(slot_.sending) EXS_NO_THREAD_SAFETY_ANALYSIS {
    if (total_ == 0)
      if (const int error = take_error(index_); error != 0) return -error;
    if (begin_tcp(number_, index_, slot_) < 0) return -ECONNRESET;
    lock_.unlock();
    Parts::Batch batch = parts_.batch(std::min<std::size_t>(limit, parts_.left()));
    msghdr message{};
    message.msg_iov = batch.parts;
    message.msg_iovlen = batch.count;
    // The call returns the bytes already sent; the next call gets the signal.
    const int flags = flags_ | (total_ > 0 ? MSG_NOSIGNAL : 0);
    WatchedSend arrival = is_watched ? WatchedSend(number_, slot_) : WatchedSend();
    const ssize_t count = libc().sendmsg(number_, &message, flags);
    const long result = count < 0 ? -errno : count;
    arrival.end(result);
    lock_.lock();
    end_tcp(number_, index_, slot_);
    if (result <= 0) return result;
    slot_.options.holds_more.store((flags_ & MSG_MORE) != 0);
    parts_.advance(static_cast<std::size_t>(result));
    total_ += static_cast<std::size_t>(result);
    slot_.counters.tcp_sent.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
    return static_cast<std::size_t>(result) == batch.bytes ? 1 : 0;
  }

  int number_;
  std::uint32_t index_;
  FamilySlot& slot_;
  Parts& parts_;
  int flags_;
  SlotLock lock_;
  std::size_t total_ = 0;
  bool is_new_stretch_ = false;  // the stretch has no bytes yet
};

}  // namespace

PlainSend::PlainSend(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  meet(number, index);
  if (slot.stage.load() == Stage::kLane) return;
  SlotLock lock(slot.sending);
  if (slot.stage.load() == Stage::kLane || !lock.held()) return;
  finish_reset(slot, number);
  ++slot.sender.in_tcp;
  slot_ = &slot;
  const Stage stage = slot.stage.load();
  if (stage == Stage::kCalling || stage == Stage::kOffered) arrival_ = WatchedSend(number, slot);
}
PlainSend::~PlainSend() {
  if (slot_ == nullptr) return;
  const int error = errno;
  const SlotLock lock(slot_->sending);
  EXS_CHECK(slot_->sender.in_tcp > 0);  // a slot with a send in the kernel is not taken anew
  --slot_->sender.in_tcp;
  errno = error;
}
ssize_t PlainSend::done(ssize_t result, int flags) noexcept {
  arrival_.end(result);
  if (result > 0) {
    slot_->options.holds_more.store((flags & MSG_MORE) != 0);
    slot_->meeting.bytes.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
    slot_->counters.tcp_sent.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
  }
  return result;
}

KernelSend::KernelSend(int number, std::uint32_t index) noexcept : number_(number), slot_(index) {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.sending);
  if (Segment* const segment = segment_of(number, index)) {
    Wire wire(slot, number, 0);
    slot.turned_for.store(Why::kByKernel, std::memory_order_relaxed);
    sender_of(slot, *segment, wire).turn();
    if (between::HostLink* const link = share_of(index).link.load()) between::await_turn(*link, -1);
  }
  is_begun_ = begin_tcp(number, index, slot) == 0;
}
KernelSend::~KernelSend() {
  if (!is_begun_) return;
  const int error = errno;
  FamilySlot& slot = slot_at(slot_);
  const SlotLock lock(slot.sending);
  end_tcp(number_, slot_, slot);
  errno = error;
}

ssize_t KernelSend::done(ssize_t result) noexcept {
  if (result > 0)
    slot_at(slot_).counters.tcp_sent.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
  return result;
}

ssize_t send(int number, std::uint32_t index, Parts parts, int flags) noexcept {
  meet(number, index);
  return Sending(number, index, parts, flags).run();
}

}  // namespace exs::sockets
