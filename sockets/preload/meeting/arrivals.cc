// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/meeting/arrivals.h"

#include <sys/socket.h>

#include "sockets/preload/ends/wire.h"
#include "sockets/preload/kernel/peer_user.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/meeting/redirected.h"

namespace exs::sockets {
namespace {

using Is = FarSocket::Is;

constexpr std::int8_t kDisproved = -1;
// Initial values of SlotMeeting::arrivals_left. From kOne, one arrival completes the proof. From kMany, the count
// ends when it reaches kOne, so sixteen sends in a row must arrive: two clients may send alike for a moment,
// but not for long.
constexpr std::int8_t kOne = 1;
constexpr std::int8_t kMany = 17;
// The maximum number of watched sends.
constexpr std::uint8_t kWatchedMax = 200;

void disprove(FamilySlot& slot) noexcept {
  slot.meeting.arrivals_left.store(kDisproved);
}
// The send proves nothing because bytes were in transit: the count begins anew.
void begin_anew(FamilySlot& slot) noexcept {
  std::int8_t left = slot.meeting.arrivals_left.load();
  if (left > kOne) slot.meeting.arrivals_left.compare_exchange_strong(left, kMany);
}

// Two clients that send alike in step pass for each other if each sends between the other's two looks. So an end
// waits for a random time before it looks. Then one of the two is behind, and sees a count above its own.
void leave_step(const FamilySlot& slot) noexcept {
  constexpr std::uint64_t kLimitNs = 128'000;  // half of it on average, sixteen times a connection
  const std::uint64_t begun = monotonic_ns();
  // The clock's last digits, the slot's address and the thread's are mixed (a step of splitmix64).
  std::uint64_t mixed =
      begun ^ reinterpret_cast<std::uintptr_t>(&slot) ^ (reinterpret_cast<std::uintptr_t>(&mixed) << 20);
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  const std::uint64_t until = begun + ((mixed ^ (mixed >> 31)) % kLimitNs);
  while (monotonic_ns() < until) pause();
}

// The counts of both sockets at one moment.
struct Counts {
  bool are_known = false;
  SentBytes before;
  SentBytes after;
  std::uint64_t received = 0;
  Is far = Is::kThere;

  explicit Counts(int number) noexcept {
    Point own{};
    Point peer{};
    if (!point_of(SYS_getsockname, number, own) || !point_of(SYS_getpeername, number, peer)) return;
    const bool has_sent = sent_bytes(number, before);
    const FarSocket socket = look_at_far_socket(number, own, peer);
    far = socket.is;
    received = socket.received;
    are_known = has_sent && socket.is == Is::kThere && socket.has_counts && sent_bytes(number, after);
  }
  // No single connection has such counts. The SYN may count as an acknowledged byte.
  [[nodiscard]] bool contradict() const noexcept {
    return are_known && (received > after.sent || received + 1 < before.acknowledged);
  }
  [[nodiscard]] bool are_even() const noexcept {
    return are_known && before.sent == received && after.sent == received;
  }
};

}  // namespace

bool begin_proof(int number, FamilySlot& slot, const Point& own, const Point& peer) noexcept {
  const Tracking tracking = tracking_of(number, own, peer, slot.is_caller);
  slot.meeting.watched_sends.store(0);
  slot.meeting.arrivals_left.store(tracking == Tracking::kNone ? kOne : kMany);
  return tracking != Tracking::kRedirected;
}

WatchedSend::WatchedSend(int number, FamilySlot& slot) noexcept : number_(number) {
  const std::int8_t left = slot.meeting.arrivals_left.load(std::memory_order_relaxed);
  if (left <= 0) return;
  if (left > kOne) leave_step(slot);
  const Counts counts(number);
  if (counts.far == Is::kNotTold && left == kOne) {
    slot.meeting.arrivals_left.store(0);  // no filter is known to rewrite names, so the names suffice
  } else if (counts.far == Is::kNotTold || (counts.far == Is::kNone && is_established(number)) ||
             counts.contradict() || slot.meeting.watched_sends.fetch_add(1) >= kWatchedMax) {
    disprove(slot);
  } else if (counts.are_even()) {
    before_ = counts.received;
    slot_ = &slot;
  } else {
    begin_anew(slot);
  }
}

void WatchedSend::end(long sent) noexcept {
  if (slot_ == nullptr || sent <= 0) return;
  // A receive of the peer may hold the socket; it counts the new bytes when it releases it.
  constexpr int kLooks = 5;
  for (int i = 0; i < kLooks; ++i) {
    const Counts counts(number_);
    if (counts.contradict()) return disprove(*slot_);
    if (!counts.are_even()) continue;
    if (counts.received != before_ + static_cast<std::uint64_t>(sent)) break;
    std::int8_t left = slot_->meeting.arrivals_left.load();
    const auto next = static_cast<std::int8_t>(left - 1);
    if (left > 0)
      slot_->meeting.arrivals_left.compare_exchange_strong(left, next == kOne ? std::int8_t{0} : next);
    return;
  }
  begin_anew(*slot_);
}

}  // namespace exs::sockets
