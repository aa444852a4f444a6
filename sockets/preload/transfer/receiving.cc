// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/transfer/transfer.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sockets/between/between.h"
#include "sockets/preload/detach/carry.h"
#include "sockets/preload/detach/detach.h"
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
#include "sockets/preload/waits/epoll_sets.h"
#include "sockets/preload/waits/looking.h"
#include "sockets/preload/waits/registrations.h"

namespace exs::sockets {
namespace {

constexpr std::uint64_t kMomentNs = 3'000;

// The segment that receives use. Null: the number belongs to something else now, or there is no segment. The
// caller holds the lock for receiving.
Segment* incoming_of(int number, std::uint32_t index) noexcept {
  return slot_of(number) == index ? incoming_segment(index) : nullptr;
}

// A blocking receive goes straight to the kernel's own receive, which then reports an end or an error.
bool sleeps_at_once(const FamilySlot& slot, std::uint32_t index, int flags) noexcept {
  return (flags & MSG_DONTWAIT) == 0 && !is_looked_at(slot) &&
         (is_in_sets(index) || !will_look(slot.waits.patience, settings_of(slot)));
}

// Bytes of the stream precede an end that TCP reports, though TCP may be faster.
template <typename Once>
long receive_from_afar(between::HostLink& link, long count, const Once& once) noexcept {
  constexpr int kPatienceMs = 2000;
  if (count <= 0 && count != -EAGAIN && count != -EPROTO && between::await_over(link, kPatienceMs)) {
    const long told = count;
    count = once();
    if (count <= 0) count = told;
  }
  between::note_received(link);
  return count;
}

// One attempt; -ENOTCONN: the lane is gone, try again.
long receive_now(int number, std::uint32_t index, Parts& parts, int flags, bool sleeps_next,
                 bool& becomes_hot) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.receiving);
  if (!lock.held()) return -EAGAIN;
  if (is_leaving(slot) && finish_leaving(number, index)) return -ENOTCONN;
  if (slot_of(number) != index || !is_in_lane(slot)) return -ENOTCONN;
  Segment* const segment = incoming_segment(index);
  if (segment == nullptr) {
    if (is_carried(slot)) reset_connection(slot, number, "there is no memory to map what is unread");
    return -ENOTCONN;
  }
  Wire wire(slot, number, flags);
  if (sleeps_next) wire.leave_looks_to_sleep();
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  const std::uint64_t before = slot.receiver.consumed;
  const auto once = [&] { return (flags & MSG_PEEK) != 0 ? receiver.peek(parts) : receiver.receive(parts); };
  long count = once();
  if (between::HostLink* const link = share_of(index).link.load(); link != nullptr && !is_carried(slot))
    count = receive_from_afar(*link, count, once);
  if (count == -EAGAIN && !is_leaving(slot) && was_told_of_bytes(slot)) count = -EPROTO;
  slot.counters.ring_received.fetch_add(slot.receiver.consumed - before, std::memory_order_relaxed);
  if (count > 0 && slot.receiver.consumed != before && !slot.receiver.looks && is_in_sets(index) &&
      may_look(slot, index)) {
    receiver.look_by_itself();
    becomes_hot = true;
  }
  // A waiter that the layer does not see may wait for the next bytes.
  if (count > 0 && slot.receiver.looks && is_in_sets(index) && !sets_are_awake(index))
    receiver.stop_looking();
  if (count > 0 && is_leaving(slot) && (flags & MSG_PEEK) == 0) finish_leaving(number, index);
  if (count == 0) note_end(slot);
  if (count == 0 && !is_carried(slot) && reset_by_dead_peer(number, slot, *segment)) return -ECONNRESET;
  if (count != -EPROTO) return count;
  reset_connection(
      slot, number,
      "what came is not what the peer announced; does anything read or write the socket unseen?");
  return -ENOTCONN;
}

// Looks before the kernel is asked for bytes or an end: a peer that answers at once has done so by then.
void look_for_a_moment(std::uint32_t index, int flags) noexcept {
  FamilySlot& slot = slot_at(index);
  if (!slot.waits.is_blocking.load(std::memory_order_relaxed) || !is_looked_at(slot) ||
      (flags & MSG_DONTWAIT) != 0 || slot.waits.patience.is_gone() || is_in_sets(index))
    return;
  const SpinLimit limit(kMomentNs);
  while (!has_bytes(index))
    if (!limit.goes_on()) return;
  slot.waits.patience.found();
  slot.counters.looks_found.fetch_add(1, std::memory_order_relaxed);
}

// Looks before a blocking receive sleeps.
bool look_for_bytes(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  if (is_in_sets(index)) return false;
  const std::uint32_t ns = looking_ns(slot.waits.patience, settings_of(slot));
  if (ns == 0 || !start_looking(number, index)) return false;
  const SpinLimit limit(ns);
  do {
    if (!has_bytes(index)) continue;
    slot.waits.patience.found();
    slot.counters.looks_found.fetch_add(1, std::memory_order_relaxed);
    return true;
  } while (limit.goes_on());
  slot.waits.patience.missed();
  slot.counters.looks_missed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// Sleeps in the kernel's own receive, so that signals, time limits and cancellation work as usual. False:
// errno has the cause.
bool sleep_for_bytes(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  slot.waits.sleepers.fetch_add(1);
  if (!stop_looking(number, index)) {
    slot.waits.sleepers.fetch_sub(1);
    return true;
  }
  char byte;
  const ssize_t there = libc().recv(number, &byte, 1, MSG_PEEK);
  slot.waits.sleepers.fetch_sub(1);
  if (there < 0 && errno == EAGAIN) return false;
  slot.counters.sleeps.fetch_add(1, std::memory_order_relaxed);
  if (there >= 0) return true;
  if (errno == EINTR) return false;
  // TCP reports the error once. The ring's bytes precede it.
  const int error = errno;
  const SlotLock lock(slot.receiving);
  slot.receiver.error = error;
  return true;
}

// Waits for more bytes than are there. TCP does not notify a peek of these. False: none will come, or a
// signal arrived.
bool wait_for_more(int number, const FamilySlot& slot, int flags) noexcept {
  constexpr std::uint8_t kReceiving = 1;
  return may_wait(number, flags) && (slot.options.shut.load() & kReceiving) == 0 && is_established(number) &&
         sleep_1ms();
}

ssize_t plain_receive(int number, Parts& parts, int flags) noexcept {
  Parts::Batch batch = parts.batch(SSIZE_MAX);
  msghdr message{};
  message.msg_iov = batch.parts;
  message.msg_iovlen = batch.count;
  return libc().recvmsg(number, &message, flags);
}

// Returns the kept error for a receive by TCP behind a lane. TCP reported that error once, while bytes
// preceded it.
ssize_t with_kept_error(FamilySlot& slot, ssize_t result, bool wants_bytes) noexcept {
  const bool is_being_reset = result < 0 && errno == ENOTCONN && was_reset(slot);
  if ((result != 0 && !is_being_reset) || !wants_bytes) return result;
  const int error = take_kept_error(slot);
  return error != 0 ? fail(error) : 0;
}

// Drops bytes, as MSG_TRUNC demands of TCP.
ssize_t discard(int number, std::uint32_t index, std::size_t count, int flags) noexcept {
  char scratch[4096];
  std::size_t total = 0;
  while (total < count) {
    // cppcheck-suppress legacyUninitvar ; bytes are put into it
    const iovec part{scratch, std::min(count - total, sizeof scratch)};
    const ssize_t got =
        receive(number, index, Parts(&part, 1), (flags & ~MSG_TRUNC) | (total > 0 ? MSG_DONTWAIT : 0));
    if (got <= 0) return outcome(slot_at(index), total, got < 0 ? -errno : 0);
    total += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < part.iov_len && (flags & MSG_WAITALL) == 0) break;
  }
  return static_cast<ssize_t>(total);
}
// Counts the bytes that are there, up to `count`.
ssize_t count_bytes(int number, std::uint32_t index, std::size_t count, int flags) noexcept {
  char byte;
  const iovec part{&byte, 1};
  const ssize_t there = receive(number, index, Parts(&part, 1), flags & ~(MSG_TRUNC | MSG_WAITALL));
  if (there <= 0) return there;
  return static_cast<ssize_t>(
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(unread_bytes(number, index), 1)), 1, count));
}
}  // namespace

bool may_wait(int number, int flags) noexcept {
  if ((flags & MSG_DONTWAIT) != 0) return false;
  return (raw::sys(SYS_fcntl, number, F_GETFL, 0) & O_NONBLOCK) == 0;
}

PlainReceive::PlainReceive(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  meet(number, index);
  if (is_in_lane(slot)) return;
  slot.waits.in_receive.fetch_add(1);
  if (is_in_lane(slot)) {
    slot.waits.in_receive.fetch_sub(1);
    return;
  }
  finish_reset(slot, number);
  slot_ = &slot;
}
PlainReceive::~PlainReceive() {
  if (slot_ != nullptr) slot_->waits.in_receive.fetch_sub(1);
}
ssize_t PlainReceive::done(ssize_t result, bool wants_bytes) noexcept {
  result = with_kept_error(*slot_, result, wants_bytes);
  if (result > 0) {
    slot_->meeting.bytes.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
    slot_->counters.tcp_received.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
  }
  return result;
}

int take_error(std::uint32_t index) noexcept {
  return take_kept_error(slot_at(index));
}

ssize_t receive(int number, std::uint32_t index, Parts parts, int flags) noexcept {
  if ((flags & MSG_TRUNC) != 0)
    return (flags & MSG_PEEK) != 0 ? count_bytes(number, index, parts.left(), flags)
                                   : discard(number, index, parts.left(), flags);
  meet(number, index);
  const Parts all = parts;
  const std::size_t wanted = parts.left();
  std::size_t total = 0;
  bool has_slept = false;
  for (;;) {
    if ((flags & MSG_PEEK) != 0) parts = all;  // each peek begins at the first byte
    const bool sleeps = !has_slept && sleeps_at_once(slot_at(index), index, flags);
    if (total == 0) look_for_a_moment(index, flags);
    bool becomes_hot = false;
    const long count = receive_now(number, index, parts, flags, sleeps, becomes_hot);
    if (becomes_hot) make_hot(index);
    if (count == -ENOTCONN) {
      finish_reset(slot_at(index), number);
      return total > 0
                 ? static_cast<ssize_t>(total)
                 : with_kept_error(slot_at(index), plain_receive(number, parts, flags), parts.left() > 0);
    }
    if (count > 0) {
      total =
          (flags & MSG_PEEK) != 0 ? static_cast<std::size_t>(count) : total + static_cast<std::size_t>(count);
      if ((flags & MSG_WAITALL) == 0 || total == wanted || Wire(slot_at(index), number, 0).is_at_mark())
        return static_cast<ssize_t>(total);
      if ((flags & MSG_PEEK) != 0 && !wait_for_more(number, slot_at(index), flags))
        return static_cast<ssize_t>(total);
      continue;
    }
    if (count != -EAGAIN) return outcome(slot_at(index), total, count);
    serve_leaver(number, index);
    if (sleeps) {
      slot_at(index).waits.patience.skip();
    } else {
      const bool waits = may_wait(number, flags);
      slot_at(index).waits.is_blocking.store(waits, std::memory_order_relaxed);
      if (!waits) return outcome(slot_at(index), total, -EAGAIN);
      if (look_for_bytes(number, index)) continue;
    }
    if (!sleep_for_bytes(number, index)) return outcome(slot_at(index), total, -errno);
    has_slept = true;
  }
}

int unread_bytes(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.receiving);
  int in_tcp = 0;
  if (raw::sys(SYS_ioctl, number, SIOCINQ, &in_tcp) != 0) return -1;
  Segment* const segment = lock.held() ? incoming_of(number, index) : nullptr;
  if (segment == nullptr) return in_tcp;
  Wire wire(slot, number, 0);
  const LaneReceiver receiver = receiver_of(slot, *segment, wire);
  const std::size_t in_ring = receiver.in_ring();
  const auto bells = static_cast<int>(receiver.bells_in_tcp());
  return static_cast<int>(std::min<std::size_t>(in_ring, INT_MAX / 2)) + std::max(in_tcp - bells, 0);
}

std::size_t bytes_in_ring(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.receiving);
  Segment* const segment = lock.held() ? incoming_of(number, index) : nullptr;
  if (segment == nullptr) return 0;
  Wire wire(slot, number, 0);
  return receiver_of(slot, *segment, wire).in_ring();
}

}  // namespace exs::sockets
