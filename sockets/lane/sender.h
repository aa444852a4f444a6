// The sending end of a direction, which alone decides which lane a byte takes: into the ring while that is open, else to TCP.
// Thread: holder of the connection's lock for sending.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "sockets/lane/direction.h"
#include "sockets/lane/ring.h"

namespace exs::lane {

// What the end itself knows. Zero at first.
struct SenderState {
  std::uint64_t written = 0;
  std::uint64_t start = 0;
  std::uint32_t epoch = 0;
  std::uint32_t bells = 0;   // owed before this stretch
  std::uint32_t in_tcp = 0;  // sends of the program inside the kernel now
  std::uint32_t rung = 0;    // bells since the ring was empty
  bool open = false;         // the ring is the lane
  bool final = false;        // it never will be again
};

// `Wire` is the end's TCP connection, whose calls never wait:
//   ring_bell()     one byte; 0, or a negative errno: the connection has failed
//   send_back(ring, position, start, n)   n bytes of the ring; 0, or a negative errno
//   await(word, value)   whether the word is no longer `value` within moments; it sleeps
//   sent()          bytes given to TCP ever, bells included; a negative number: cannot be told
template <template <typename> class Word, typename Wire>
class Sender {
 public:
  Sender(SenderState& state, Direction<Word>& words, Ring ring, Wire& wire)
      : state_(state), words_(words), ring_(ring), wire_(wire) {}

  [[nodiscard]] bool is_open() const { return state_.open; }

  // Room in the ring; with none, or when the peer has left, the next bytes go to TCP, after turn().
  [[nodiscard]] std::size_t room() const {
    const std::uint64_t unread = state_.written - words_.consumed.load();
    return unread > ring_.capacity() ? 0 : ring_.capacity() - static_cast<std::size_t>(unread);
  }
  [[nodiscard]] bool peer_left() const { return (words_.sleep.load() & kDetached) != 0; }
  [[nodiscard]] bool peer_waits() const { return is_armed(words_.sleep.load()); }
  [[nodiscard]] bool peer_closed() const { return words_.closed.load() != 0; }

  // Puts `count` bytes, 1 to room(), into the open ring. 0, or a negative errno: the connection has failed, or with EFAULT the source.
  template <typename Source>
  long put(Source& source, std::size_t count) {
    if (words_.consumed.load() ==
        state_.written) {  // whoever reads it empty and fills it again stays in a few pages
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

  // Wakes a peer that sleeps, by a bell that is for no bytes: it makes a call, and sees that we leave. 0, or a negative errno.
  long wake() {
    if (!state_.open && !(may_open() && open())) return 0;
    return is_armed(owe_bell()) ? wire_.ring_bell() : 0;
  }

  // A peer that has left reads the ring no more: what lies there unread, and what it does not take itself, goes to TCP, and so
  // does everything from now on.
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
  // The same, for good.
  void finish() {
    state_.final = true;
    words_.final.store(1);
    turn();
  }

  // Around each send by TCP, which waits here for a receiver that resends what was unread before: in one atomic step, either it
  // sees our send, or we see what it does. 0, or a negative errno.
  long begin_tcp() {
    words_.in_tcp.exchange(++state_.in_tcp);
    if (!peer_left() || wire_.await(words_.claim, kResending)) return 0;
    end_tcp();
    return -EPROTO;
  }
  void end_tcp() { words_.in_tcp.store(--state_.in_tcp); }

  // Whether a new stretch of the ring may begin.
  [[nodiscard]] bool may_open() const {
    return !state_.open && !state_.final && state_.in_tcp == 0 && words_.ready.load() != 0 &&
           words_.passed.load() == state_.epoch && words_.consumed.load() == state_.written && !peer_left() &&
           !peer_closed();
  }
  // May still say no, which changes nothing.
  bool open() {
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

  // The lock came from a process of the family that died with it. What that had published counts, and what it owed the
  // receiver is made good.
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
  // That nobody takes from TCP. More could fill it, where as many bytes of the program's would not.
  static constexpr std::uint32_t kBellsMax = 64;

  // Whoever has left wants no bells.
  static bool is_armed(std::uint32_t sleep) { return (sleep & (kArmed | kDetached)) == kArmed; }
  // One atomic step: either the receiver sees the bytes when it looks after it armed, or we see that it armed.
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
  // Bells, and what was taken back.
  std::int64_t in_tcp_since_mark() {
    const std::int64_t sent = wire_.sent();
    return sent < 0 ? sent : sent - static_cast<std::int64_t>(words_.mark.load());
  }
  // kUnclaimed: what is unread is the sender's from now on; kSenders: it was before, and a process of the family died at it;
  // kReceivers: the receiver has it; kResending: the peer has broken the protocol.
  std::uint32_t claim_unread() {
    constexpr int kClaimsMax = 1000;  // one that tries and lets go again does so a hundred times at most
    for (int i = 0; i < kClaimsMax; ++i) {
      if (words_.claim.exchange_if(kUnclaimed, kSenders)) return kUnclaimed;
      const std::uint32_t claim = words_.claim.load();
      if (claim == kSenders || claim == kReceivers) return claim;
      if (claim > kResending || !wire_.await(words_.claim, kResending)) return kResending;
    }
    return kResending;
  }
  // By a process of the family that died at it.
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
