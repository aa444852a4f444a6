// The sending end of a direction. It alone chooses the lane of a byte: the ring while that is open, else TCP.
// Thread: holder of the connection's lock for sending.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "sockets/lane/direction.h"
#include "sockets/lane/ring.h"

namespace exs::lane {

// The end's private state. Zero at first.
struct SenderState {
  std::uint64_t written = 0;
  std::uint64_t start = 0;
  std::uint32_t epoch = 0;
  std::uint32_t bells = 0;   // bells owed before this stretch
  std::uint32_t in_tcp = 0;  // sends of the program inside the kernel now
  std::uint32_t rung = 0;    // bells since the ring was last empty
  bool open = false;         // the ring is the lane
  bool final = false;        // the ring never opens again
};

// `Wire` is the end's TCP connection. Its calls wait for a bounded time at most:
//   ring_bell()     sends one byte; 0, or a negative errno: the connection has failed
//   send_back(ring, position, start, n)   sends n bytes of the ring; 0, or a negative errno
//   await(word, value)   sleeps a moment until the word is no longer `value`; false: it still is
//   sent()          bytes ever given to TCP, bells included; negative: unknown
template <template <typename> class Word, typename Wire>
class Sender {
 public:
  Sender(SenderState& state, Direction<Word>& words, Ring ring, Wire& wire)
      : state_(state), words_(words), ring_(ring), wire_(wire) {}

  [[nodiscard]] bool is_open() const { return state_.open; }

  // Room in the ring. With none, or after the peer has left, the next bytes go to TCP, after turn().
  [[nodiscard]] std::size_t room() const {
    const std::uint64_t unread = state_.written - words_.consumed.load();
    return unread > ring_.capacity() ? 0 : ring_.capacity() - static_cast<std::size_t>(unread);
  }
  [[nodiscard]] bool peer_left() const { return (words_.sleep.load() & kDetached) != 0; }
  [[nodiscard]] bool peer_waits() const { return is_armed(words_.sleep.load()); }
  [[nodiscard]] bool peer_closed() const { return words_.closed.load() != 0; }

  // Puts `count` bytes, 1 to room(), into the open ring. Returns 0 or a negative errno: -EFAULT if the source
  // failed, else the connection has failed.
  template <typename Source>
  long put(Source& source, std::size_t count) {
    EXS_CHECK(state_.open && count > 0);
    // A sender whose peer keeps up stays in a few pages of the ring.
    if (words_.consumed.load() == state_.written) {
      state_.start = state_.written;
      state_.rung = 0;
      words_.start.store(state_.start);
    }
    ring_.put(state_.written, state_.start, count, source);
    if (has_failed(source)) return -EFAULT;
    state_.written += count;
    words_.written.store(state_.written);
    const std::uint32_t before = owe_bell();
    if ((before & kDetached) != 0) return take_back();
    if (!is_armed(before)) return 0;
    ++state_.rung;
    return wire_.ring_bell();
  }

  // Wakes a sleeping peer by a bell for no bytes. The peer then makes a call and sees that we leave. Returns
  // 0 or a negative errno.
  long wake() {
    if (!state_.open && !(may_open() && open())) return 0;
    return is_armed(owe_bell()) ? wire_.ring_bell() : 0;
  }

  // The peer has left the ring. Sends by TCP what is unread and what the peer does not claim. All later bytes
  // go by TCP, too.
  long take_back() {
    const std::uint32_t claim = claim_unread();
    if (claim == kResending) return -EPROTO;
    const std::uint64_t end = claim == kReceivers ? words_.claimed.load() : words_.consumed.load();
    const std::uint64_t unread = state_.written - end;
    const std::uint64_t sent = claim == kSenders ? std::min(taken_back(), unread) : 0;
    long result = 0;
    if (unread > ring_.capacity()) {
      result = -EPROTO;
    } else if (unread > sent) {
      result = wire_.send_back(ring_, end + sent, state_.start, static_cast<std::size_t>(unread - sent));
    }
    state_.written = end;
    words_.written.store(end);
    finish();
    return result;
  }

  // Announces that the next bytes go to TCP.
  void turn() {
    if (!state_.open) return;
    state_.open = false;
    words_.turn.store(state_.written);
  }
  // Announces that all further bytes go to TCP.
  void finish() {
    state_.final = true;
    words_.final.store(1);
    turn();
  }

  // Encloses each send by TCP, and waits for a receiver that resends earlier bytes. The exchange is one
  // atomic step: either the receiver sees our send, or we see its claim. Returns 0 or a negative errno.
  long begin_tcp() {
    words_.in_tcp.exchange(++state_.in_tcp);
    if (!peer_left() || wire_.await(words_.claim, kResending)) return 0;
    end_tcp();
    return -EPROTO;
  }
  void end_tcp() {
    EXS_CHECK(state_.in_tcp > 0);
    words_.in_tcp.store(--state_.in_tcp);
  }

  [[nodiscard]] bool may_open() const {
    return !state_.open && !state_.final && state_.in_tcp == 0 && words_.ready.load() != 0 &&
           words_.passed.load() == state_.epoch && words_.consumed.load() == state_.written && !peer_left() &&
           !peer_closed();
  }
  // False: TCP's count is unknown; nothing has changed.
  bool open() {
    EXS_CHECK(!state_.open && !state_.final);
    const std::int64_t sent = wire_.sent();
    if (sent < 0) return false;
    words_.in_tcp.store(0);
    state_.bells = words_.sleep.load() / kBell;
    words_.mark.store(static_cast<std::uint64_t>(sent));
    words_.turn.store(kNoTurn);
    words_.epoch.store(++state_.epoch);
    state_.open = true;
    return true;
  }

  // Repairs the state after a relative died with the lock. What the relative had published counts, and a bell
  // that it owed is rung.
  void take_over() {
    const std::uint64_t published = words_.written.load();
    if (state_.written - published <= ring_.capacity()) state_.written = published;
    words_.start.store(state_.start);
    state_.epoch = words_.epoch.load();
    state_.final = words_.final.load() != 0;
    state_.open = words_.turn.load() == kNoTurn && words_.passed.load() != state_.epoch;
    if (!state_.open) return;
    if (const std::int64_t in_tcp = in_tcp_since_mark(); in_tcp >= 0 && in_tcp < bells_of_stretch())
      static_cast<void>(wire_.ring_bell());
    if (state_.final) turn();
  }

 private:
  // Bells that nobody takes from TCP. More could fill TCP where as many bytes of the program would not.
  static constexpr std::uint32_t kBellsMax = 64;

  // A peer that has left wants no bells.
  static bool is_armed(std::uint32_t sleep) { return (sleep & (kArmed | kDetached)) == kArmed; }
  // One atomic step: either the receiver sees the bytes when it looks after arming, or we see that it is
  // armed.
  std::uint32_t owe_bell() {
    const std::uint32_t stays = state_.rung < kBellsMax ? kEach : 0;
    return words_.sleep.update([stays](std::uint32_t sleep) {
      if (!is_armed(sleep)) return sleep;
      return (sleep & stays) != 0 ? sleep + kBell : sleep - kArmed + kBell;
    });
  }
  [[nodiscard]] std::int64_t bells_of_stretch() const {
    constexpr std::uint32_t kMask = ~std::uint32_t{0} / kBell;
    return (words_.sleep.load() / kBell - state_.bells) & kMask;
  }
  // Bells, and bytes that were taken back.
  std::int64_t in_tcp_since_mark() {
    const std::int64_t sent = wire_.sent();
    return sent < 0 ? sent : sent - static_cast<std::int64_t>(words_.mark.load());
  }
  // Returns the claim that was there before:
  //   kUnclaimed   the unread bytes are now the sender's
  //   kSenders     they already were, and a relative died while it sent them
  //   kReceivers   the receiver has them
  //   kResending   the peer has broken the protocol
  std::uint32_t claim_unread() {
    constexpr int kClaimsMax = 1000;  // an honest receiver tries and gives up at most a hundred times
    for (int i = 0; i < kClaimsMax; ++i) {
      if (words_.claim.exchange_if(kUnclaimed, kSenders)) return kUnclaimed;
      const std::uint32_t claim = words_.claim.load();
      if (claim == kSenders || claim == kReceivers) return claim;
      if (claim > kResending || !wire_.await(words_.claim, kResending)) return kResending;
    }
    return kResending;
  }
  // Bytes that a relative had sent back when it died.
  std::uint64_t taken_back() {
    const std::int64_t bytes = in_tcp_since_mark() - bells_of_stretch();
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }

  SenderState& state_;
  Direction<Word>& words_;
  Ring ring_;
  Wire& wire_;
};

}  // namespace exs::lane
