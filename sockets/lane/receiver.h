// The receiving end of a direction. It tells the program's bytes from bells, and chooses between the ring and
// TCP. sender.h is the other end; README.md describes the protocol.
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

// The end's private state. Zero at first. Thread: holder of the connection's lock for receiving.
struct ReceiverState {
  std::uint64_t consumed = 0;
  std::uint64_t position = 0;  // bytes taken from TCP, bells included; set when the end becomes ready
  std::uint64_t tcp_left = 0;  // bytes of TCP before the stretch `entered`
  std::uint32_t passed = 0;
  std::uint32_t entered = 0;       // the stretch for which tcp_left is valid
  std::uint32_t due = 0;           // bells that were or will be sent for the times this end was armed
  std::uint32_t taken = 0;         // of these, bells taken from TCP
  std::uint32_t taken_before = 0;  // of these, before the stretch `entered`
  bool leaving = false;            // the sender takes back the unread bytes of the ring
  bool broken = false;             // TCP had bytes in place of bells
  // The ring may have bytes without a bell, so waiters look into it.
  bool looks = false;
  int error = 0;  // of TCP, returned once the ring has been read
};

// `Wire` is the end's TCP connection. Its calls wait for a bounded time at most, and return bytes or a
// negative errno:
//   receive(sink, n)   takes up to n bytes; 0: the end
//   peek(sink, n)      copies up to n bytes and leaves them; the sink does not advance
//   peek_behind(n, sink)   copies bytes that lie behind n others; none if they do not lie there
//   look()             1: there are bytes; 0: the end; -EAGAIN
//   unread()           number of unread bytes; reports no error
//   is_at_mark()       the next byte is urgent
//   drop(n)            takes n bytes that are there
//   taken()            bytes ever taken from TCP, bells included; negative: unknown
//   take_bells(n)      takes up to n bytes, each a bell; -EPROTO: one is no bell
//   await_bells(n)     gives n bells a moment to arrive
//   sent_by_peer()     bytes that the peer ever gave to TCP; negative: unknown
//   resend_first(n)    takes n unread bytes and sends them by the peer's socket, behind all that it has sent; false: it failed
//   resend(ring, position, start, n)   sends n bytes of the ring likewise
//   break_off()        resets the connection, whose bytes are in disorder
//   is_read_unseen()   another reader has taken bytes, so a bell that is due may never arrive
// Thread: holder of the connection's lock for receiving.
template <template <typename> class Word, typename Wire>
class Receiver {
 public:
  Receiver(ReceiverState& state, Direction<Word>& words, Ring ring, Wire& wire)
      : state_(state), words_(words), ring_(ring), wire_(wire) {}

  // Returns the number of bytes, or:
  //   0         the end
  //   -EAGAIN   nothing now; TCP becomes readable with the next bytes
  //   -EPROTO   the peer, or an unseen reader of the TCP connection, has broken the protocol
  //   another error of TCP
  // `sink` takes at most sink.left() bytes.
  template <typename Sink>
  long receive(Sink& sink) {
    long total = 0;
    do {
      const long count = receive_piece(sink);
      if (count <= 0 && total == 0) return count;
      if (count <= 0) {
        keep(count);
        return total;
      }
      total += count;
    } while (sink.left() > 0 && has_other_piece());
    return total;
  }

  // Like receive(), but the bytes stay. They may lie in TCP, then in the ring, then in TCP again.
  template <typename Sink>
  long peek(Sink& sink) {
    if (state_.broken) return -EPROTO;
    for (int round = 0; round < kRoundsMax; ++round) {
      const std::uint32_t epoch = words_.epoch.load();
      if (epoch == state_.passed) {
        const long count = wire_.peek(sink, sink.left());
        if (words_.epoch.load() == state_.passed) return told(count);
        keep(count);
        continue;
      }
      if (state_.entered != epoch && !enter(epoch)) return -EPROTO;
      const long count = peek_stretch(sink);
      if (count != kAgain) return count;
    }
    return -EPROTO;
  }

  // The ring has bytes. Callers without the lock get a hint.
  [[nodiscard]] bool has_bytes_in_ring() const { return words_.written.load() != state_.consumed; }
  [[nodiscard]] std::size_t in_ring() const {
    if (words_.epoch.load() == state_.passed) return 0;
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(words_.written.load() - state_.consumed, ring_.capacity()));
  }

  // Bells among the unread bytes of TCP: those known, and one that was sent since.
  [[nodiscard]] std::uint32_t bells_in_tcp() const {
    return (words_.sleep.load() / kBell - state_.taken) & kBellsMask;
  }

  // Takes the bells that are due. The connection must not close before that.
  long take_bells() {
    if (state_.due == state_.taken) return 0;
    const long count = wire_.take_bells(state_.due - state_.taken);
    if (count > 0) {
      state_.taken += static_cast<std::uint32_t>(count);
      state_.position += static_cast<std::uint64_t>(count);
    }
    return count;
  }

  // The sender rings a bell for the next bytes.
  void arm() { count_bells(words_.sleep.fetch_or(kArmed)); }
  // The sender rings a bell for each later put, too.
  void arm_for_each() {
    words_.sleep.fetch_or(kEach);
    if (!state_.looks) arm();
  }

  // The sender rings no bells from now on, because bells are its most expensive step. No thread may sleep
  // before stop_looking() has returned true.
  void look_by_itself() {
    if (state_.looks) return;
    state_.looks = true;
    disarm();
    if (is_past_mark()) keep(take_bells());
  }
  // False: there are bytes, so looking goes on and nobody needs to wait. If bytes of TCP precede them,
  // looking goes on, too, and TCP wakes the waiters.
  bool stop_looking() {
    if (!state_.looks) return true;
    arm();
    if (has_bytes_in_ring()) {  // a turn needs no check: bytes in TCP follow it
      disarm();
      return state_.tcp_left > 0;
    }
    state_.looks = false;
    if (is_past_mark()) keep(take_bells());
    return true;
  }

  // Begins to leave the ring. The sender sends the unread bytes by TCP in its next call; has_left() reports
  // when that is done.
  void leave() { static_cast<void>(detach()); }
  // Leaves the ring and takes the unread bytes along. `own` becomes a direction without a sender, from which
  // the rest is received. copy(ring, position, start, n) copies the bytes. `again` repeats this for a
  // relative that died in it. False: the sender sends the unread bytes by TCP.
  template <typename Copy>
  bool leave_with(Direction<Word>& own, const Copy& copy, bool again = false) {
    const bool was_armed = detach();
    std::uint64_t end = words_.claimed.load();
    if (!again || words_.claim.load() != kReceivers) {
      // Armed, and no bell is due: the sender may be in the middle of a put.
      if (was_armed && state_.due == state_.taken) return false;
      end = words_.written.load();
      words_.claimed.store(end);
      if (!words_.claim.exchange_if(kUnclaimed, kReceivers)) return false;
    }
    copy_to(own, end, copy);
    state_.leaving = false;
    words_.consumed.store(end);
    return true;
  }
  // Sends the unread bytes by TCP, without a call of the sender and ahead of its later bytes. It comes after
  // leave() and has_left(). False: the sender is in the middle of a step, a byte is in transit, or the sender
  // takes the bytes back itself.
  bool return_unread() {
    if (!words_.claim.exchange_if(kUnclaimed, kResending)) return false;
    const bool in_stretch = state_.entered != state_.passed && words_.epoch.load() == state_.entered;
    const bool done = in_stretch && words_.in_tcp.load() == 0 && resend_unread();
    if (done) words_.claimed.store(state_.consumed);
    words_.claim.store(done ? kReceivers : kUnclaimed);
    return done;
  }
  // Keeps the unread bytes after the sender has ended: the ring still delivers what the sender has not taken
  // back. False: not yet.
  bool stay() {
    words_.claimed.store(words_.written.load());
    if (!words_.claim.exchange_if(kUnclaimed, kReceivers)) {
      if (has_left() != Left::kNotYet || state_.tcp_left > 0) return false;
      // The sender died while it took bytes back. Those bytes lie in TCP behind the bells, the rest lies in
      // the ring.
      if (take_bells() < 0 || state_.taken != state_.due) return false;
      const auto in_tcp = static_cast<std::uint64_t>(wire_.unread());
      if (in_tcp > words_.written.load() - state_.consumed) return false;
      state_.tcp_left = in_tcp;
      state_.consumed += in_tcp;
    }
    state_.leaving = false;
    return true;
  }
  // Repairs the state after a relative died with the lock. TCP's counts tell what the relative had taken.
  void take_over() {
    words_.consumed.store(state_.consumed);
    words_.passed.store(state_.passed);
    const std::int64_t taken = wire_.taken();
    if (taken < 0) return;
    state_.position = static_cast<std::uint64_t>(taken);
    const std::uint32_t epoch = words_.epoch.load();
    if (epoch == state_.passed || state_.entered != epoch) return;
    const std::uint64_t mark = words_.mark.load();
    state_.tcp_left = state_.position < mark ? mark - state_.position : 0;
    if (state_.position > mark)
      state_.taken = state_.taken_before + static_cast<std::uint32_t>(state_.position - mark);
  }
  enum class Left {
    kYes,     // only TCP has bytes for this end, and all are the program's
    kNotYet,  // the sender has to take back the unread bytes, or a bell is in transit
    kBehind,  // bells lie behind bytes that the program has not received
    kNever,   // the protocol is broken
  };
  Left has_left() {
    const std::uint32_t epoch = words_.epoch.load();
    if (epoch != state_.passed && state_.entered != epoch && !enter(epoch)) return Left::kNever;
    if (words_.written.load() != state_.consumed) return Left::kNotYet;
    if (state_.due == state_.taken) return Left::kYes;
    if (state_.tcp_left > 0) return Left::kBehind;
    const long count = take_bells();
    keep(count);
    if (count < 0 && count != -EAGAIN) return Left::kNever;
    return state_.due == state_.taken ? Left::kYes : Left::kNotYet;
  }

 private:
  // Stops the bells and counts those already owed. Returns whether the end was armed.
  bool detach() {
    const std::uint32_t before = words_.sleep.fetch_or(kDetached);
    count_bells(before);
    state_.leaving = true;
    return (before & kArmed) != 0;
  }
  // TCP has the bytes before the ring, then bells, then the bytes behind the ring. Resent bytes come behind
  // all of these.
  bool resend_unread() {
    const std::uint64_t written = words_.written.load();
    const std::uint64_t in_ring = written - state_.consumed;
    const std::uint64_t bells = state_.due - state_.taken;
    const auto in_tcp = static_cast<std::uint64_t>(wire_.unread());
    const auto sent = static_cast<std::uint64_t>(wire_.sent_by_peer());
    if (in_ring > ring_.capacity() || in_tcp < state_.tcp_left + bells || state_.position + in_tcp != sent)
      return false;
    const std::uint64_t before = state_.tcp_left;
    const std::uint64_t behind = in_tcp - before - bells;
    if (!wire_.resend_first(static_cast<std::size_t>(before))) return false;
    state_.position += before;
    state_.tcp_left = 0;
    take_bells();
    if (!wire_.resend(ring_, state_.consumed, words_.start.load(), static_cast<std::size_t>(in_ring)) ||
        !wire_.resend_first(static_cast<std::size_t>(behind)))
      return false;
    // The sender does not know of bytes that we carry, so it does not wait for them.
    if (static_cast<std::uint64_t>(wire_.sent_by_peer()) != sent + before + in_ring + behind) {
      wire_.break_off();
      return false;
    }
    state_.consumed = written;
    words_.consumed.store(written);
    return true;
  }
  template <typename Copy>
  void copy_to(Direction<Word>& own, std::uint64_t written, const Copy& copy) {
    const std::uint32_t epoch = words_.epoch.load();
    const std::uint64_t start = words_.start.load();
    const bool has_stretch = epoch != state_.passed;
    const std::uint64_t unread = has_stretch ? written - state_.consumed : 0;
    if (unread > 0 && unread <= ring_.capacity())
      copy(ring_, state_.consumed, start, static_cast<std::size_t>(unread));
    own.written.store(state_.consumed + unread);
    own.start.store(start);
    own.mark.store(words_.mark.load());
    own.turn.store(written);
    own.final.store(1);
    own.epoch.store(epoch);
    own.consumed.store(state_.consumed);
    own.passed.store(state_.passed);
    own.sleep.store(words_.sleep.load());
  }

  void disarm() { count_bells(words_.sleep.fetch_and(~kArmed)); }
  [[nodiscard]] bool has_ring_news() const {
    return has_bytes_in_ring() || words_.turn.load() == state_.consumed;
  }
  // All bytes of TCP before the stretch are taken, so TCP has only bells until the stretch ends.
  [[nodiscard]] bool is_past_mark() const { return state_.entered != state_.passed && state_.tcp_left == 0; }

  // Receives from one lane, up to the next change of lane.
  template <typename Sink>
  long receive_piece(Sink& sink) {
    if (state_.broken) return -EPROTO;
    for (int round = 0; round < kRoundsMax; ++round) {
      // `final` before `epoch`: the other order could miss a stretch that began before the last turn.
      const bool final = words_.final.load() != 0;
      const std::uint32_t epoch = words_.epoch.load();
      if (epoch == state_.passed) {
        if (final) return told(wire_.receive(sink, sink.left()));
        const long count = wire_.peek(sink, sink.left());
        if (words_.epoch.load() == state_.passed)
          return count > 0 ? take_peeked(sink, count) : told(none(sink, count));
        keep(count);  // some of these bytes may be bells
        continue;
      }
      const long count = receive_stretch(sink, epoch);
      if (count != kAgain) return count;
    }
    return -EPROTO;
  }
  // The bytes just taken end at a change of lane, and the other lane has bytes.
  [[nodiscard]] bool has_other_piece() {
    if (has_passed_) {
      has_passed_ = false;
      return words_.epoch.load() == state_.passed && wire_.unread() > 0;
    }
    if (!is_past_mark() || state_.leaving) return false;
    if (has_bytes_in_ring()) return true;
    // A look that found no bytes could meet an error, which belongs to a later call.
    return words_.turn.load() == state_.consumed && wire_.unread() > static_cast<long>(bells_in_tcp());
  }

  static constexpr long kAgain = -1000000;
  // Bounds a call while a hostile peer announces changes of lane without bytes.
  static constexpr int kRoundsMax = 64;
  // More bytes than TCP can hold in transit.
  static constexpr std::uint64_t kTcpBytesMax = std::uint64_t{1} << 32;

  static constexpr std::uint32_t kBellsMask = ~std::uint32_t{0} / kBell;
  // Each time the sender cleared our bit it owes a bell.
  void count_bells(std::uint32_t before) {
    state_.due = state_.taken + ((before / kBell - state_.taken) & kBellsMask);
  }

  // TCP has no bytes, or has ended. A receive that finds none steps over an urgent byte; a peek does not. A
  // sender opens no stretch after an urgent byte.
  template <typename Sink>
  long none(Sink& sink, long result) {
    const bool has_none = result == -EAGAIN || result == 0;
    return has_none && wire_.is_at_mark() ? wire_.receive(sink, sink.left()) : result;
  }
  template <typename Sink>
  long take_peeked(Sink& sink, long count) {
    const long taken = wire_.drop(static_cast<std::size_t>(count));
    if (taken > 0) {
      sink.advance(static_cast<std::size_t>(taken));
      state_.position += static_cast<std::uint64_t>(taken);
    }
    return taken;
  }

  // TCP reports an error once. An error that comes while the ring has bytes is kept until they are read.
  void keep(long result) {
    if (result == -EPROTO) {
      state_.broken = true;
    } else if (result < 0 && result != -EAGAIN && result != -EFAULT) {
      state_.error = static_cast<int>(-result);
    }
  }
  long told(long result) {
    if (result > 0 || state_.error == 0) return result;
    const int error = state_.error;
    state_.error = 0;
    return -error;
  }

  template <typename Sink>
  long receive_stretch(Sink& sink, std::uint32_t epoch) {
    if (state_.entered != epoch && !enter(epoch)) return -EPROTO;
    if (state_.tcp_left > 0) return receive_before_mark(sink);
    if (state_.leaving) return -EAGAIN;
    const std::uint64_t available = words_.written.load() - state_.consumed;
    if (available > ring_.capacity()) return -EPROTO;
    if (available > 0) return receive_ring(sink, static_cast<std::size_t>(available));
    if (words_.turn.load() == state_.consumed) return pass();
    return nothing();
  }

  bool enter(std::uint32_t epoch) {
    if (epoch != state_.passed + 1) return false;
    const std::uint64_t before = words_.mark.load() - state_.position;
    if (before > kTcpBytesMax) return false;
    state_.tcp_left = before;
    state_.taken_before = state_.taken;
    state_.entered = epoch;
    return true;
  }

  template <typename Sink>
  long receive_before_mark(Sink& sink) {
    const auto limit = static_cast<std::size_t>(std::min<std::uint64_t>(sink.left(), state_.tcp_left));
    const long count = wire_.receive(sink, limit);
    if (count > 0) {
      state_.tcp_left -= static_cast<std::uint64_t>(count);
      state_.position += static_cast<std::uint64_t>(count);
    }
    return count;
  }

  template <typename Sink>
  long receive_ring(Sink& sink, std::size_t available) {
    const std::size_t count = std::min(available, sink.left());
    ring_.get(state_.consumed, words_.start.load(), count, sink);
    if (has_failed(sink)) return -EFAULT;
    state_.consumed += count;
    words_.consumed.store(state_.consumed);
    if (count == available) settle();
    return static_cast<long>(count);
  }

  // The ring is empty. TCP must not be readable now, and must become readable with the next bytes.
  void settle() {
    if (words_.turn.load() == state_.consumed) {
      if (const long result = try_pass(); result != kAgain) keep(result);
      has_passed_ = state_.passed == state_.entered;
      return;
    }
    if (!state_.looks) arm();
    if (has_ring_news()) return;
    const long count = take_bells();
    keep(count);
    if (state_.due == state_.taken || (count < 0 && count != -EAGAIN)) return;
    // The bell of bytes just taken may be in transit. No waiter may see it arrive.
    wire_.await_bells(state_.due - state_.taken);
    keep(take_bells());
  }

  template <typename Sink>
  long peek_stretch(Sink& sink) {
    long total = 0;
    if (state_.tcp_left > 0) {
      const auto limit = static_cast<std::size_t>(std::min<std::uint64_t>(sink.left(), state_.tcp_left));
      total = wire_.peek(sink, limit);
      if (total <= 0) return told(total);
      sink.advance(static_cast<std::size_t>(total));
      if (static_cast<std::uint64_t>(total) < state_.tcp_left) return total;
    }
    if (state_.leaving) return total > 0 ? total : -EAGAIN;
    const std::uint64_t available = words_.written.load() - state_.consumed;
    if (available > ring_.capacity()) return -EPROTO;
    const std::size_t count = std::min(static_cast<std::size_t>(available), sink.left());
    if (count > 0) ring_.get(state_.consumed, words_.start.load(), count, sink);
    if (has_failed(sink)) return -EFAULT;
    total += static_cast<long>(count);
    if (words_.turn.load() == state_.consumed + count && sink.left() > 0) {
      if (total == 0) return pass();
      const long behind = wire_.peek_behind(state_.tcp_left + bells_in_tcp(), sink);
      if (behind > 0) total += behind;
    }
    return total > 0 ? total : nothing();
  }
  // Leaves the stretch at its end. All its bells precede the first byte of TCP.
  long pass() {
    const long result = try_pass();
    return result == kAgain ? result : told(result);
  }
  long try_pass() {
    EXS_CHECK(state_.entered == state_.passed + 1 &&
              state_.tcp_left == 0);  // enter() has checked the peer's epoch
    if (!state_.looks) arm();
    while (state_.taken != state_.due) {
      const long count = take_bells();
      if (count == -EAGAIN && wire_.is_read_unseen()) return -EPROTO;
      if (count <= 0) return count;  // a sender that ended before it rang never will
    }
    ++state_.passed;
    words_.passed.store(state_.passed);
    return kAgain;
  }

  long nothing() {
    if (!state_.looks) arm();
    if (has_ring_news()) return kAgain;
    const long count = take_bells();
    if (count < 0 && count != -EAGAIN) return count;
    if (count == -EAGAIN && wire_.is_read_unseen()) return -EPROTO;
    const long there = wire_.look();
    // The sender may have put bytes into the ring before these bytes, this end or this error.
    if (has_ring_news()) {
      keep(there);
      return kAgain;
    }
    if (there <= 0) return told(there);
    // A bell for bytes that are already taken. Any other byte would keep TCP readable with nothing to read.
    return bells_in_tcp() == 0 ? -EPROTO : -EAGAIN;
  }

  ReceiverState& state_;
  Direction<Word>& words_;
  Ring ring_;
  Wire& wire_;
  bool has_passed_ = false;  // this call has passed a turn, with bytes of the ring
};

}  // namespace exs::lane
