#include "sockets/preload/arrivals.h"

#include <sys/socket.h>

#include "sockets/preload/peer_user.h"
#include "sockets/preload/raw.h"
#include "sockets/preload/redirected.h"
#include "sockets/preload/wire.h"

namespace exs::sockets {
namespace {

using Is = FarSocket::Is;

constexpr std::int8_t kDisproved = -1;
// What Slot::arrivals_left begins with: one send has to arrive, and is the last. Where names may be rewritten it is that value that ends
// the count, so that many have to arrive in a row: two clients may do the same at the same moments, but not for long.
constexpr std::int8_t kOne = 1;
constexpr std::int8_t kMany = 17;
// Sends that are watched at most.
constexpr std::uint8_t kWatchedMax = 200;

void disprove(Slot& slot) noexcept {
  slot.arrivals_left.store(kDisproved);
}
// Nothing can be told of a send: bytes were under way.
void begin_anew(Slot& slot) noexcept {
  std::int8_t left = slot.arrivals_left.load();
  if (left > kOne) slot.arrivals_left.compare_exchange_strong(left, kMany);
}

// What both sockets say at one moment.
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
  // No one connection has such. Its beginning may count as a byte that was acknowledged.
  [[nodiscard]] bool contradict() const noexcept {
    return are_known && (received > after.sent || received + 1 < before.acknowledged);
  }
  [[nodiscard]] bool are_even() const noexcept {
    return are_known && before.sent == received && after.sent == received;
  }
};

}  // namespace

bool begin_proof(int number, Slot& slot, const Point& own, const Point& peer) noexcept {
  const Tracking tracking = tracking_of(number, own, peer, slot.is_caller);
  slot.watched_sends.store(0);
  slot.arrivals_left.store(tracking == Tracking::kNone ? kOne : kMany);
  return tracking != Tracking::kRedirected;
}

Arrival::Arrival(int number, Slot& slot) noexcept : number_(number) {
  const std::int8_t left = slot.arrivals_left.load(std::memory_order_relaxed);
  if (left <= 0) return;
  const Counts counts(number);
  if (counts.far == Is::kNotTold && left == kOne) {
    slot.arrivals_left.store(0);  // nobody is known to rewrite names, so they have to do
  } else if (counts.far == Is::kNotTold || (counts.far == Is::kNone && is_established(number)) ||
             counts.contradict() || slot.watched_sends.fetch_add(1) >= kWatchedMax) {
    disprove(slot);
  } else if (counts.are_even()) {
    before_ = counts.received;
    slot_ = &slot;
  } else {
    begin_anew(slot);
  }
}

void Arrival::end(long sent) noexcept {
  if (slot_ == nullptr || sent <= 0) return;
  // A receive of the peer's may be at the socket, and takes in what has come when it lets it go.
  constexpr int kLooks = 5;
  for (int i = 0; i < kLooks; ++i) {
    const Counts counts(number_);
    if (counts.contradict()) return disprove(*slot_);
    if (!counts.are_even()) continue;
    if (counts.received != before_ + static_cast<std::uint64_t>(sent)) break;
    std::int8_t left = slot_->arrivals_left.load();
    const auto next = static_cast<std::int8_t>(left - 1);
    if (left > 0) slot_->arrivals_left.compare_exchange_strong(left, next == kOne ? std::int8_t{0} : next);
    return;
  }
  begin_anew(*slot_);
}

}  // namespace exs::sockets
