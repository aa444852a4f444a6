// The receiving end of a direction: which bytes of TCP are the program's and which are bells, when the ring is read, and when it
// turns to TCP. sender.h is the other end; README.md beside this has the protocol.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "sockets/lane/direction.h"
#include "sockets/lane/ring.h"

namespace exs::lane {

// What the end itself knows. Zero at first. Thread: holder of the connection's lock for receiving.
struct ReceiverState {
  std::uint64_t consumed = 0;
  std::uint64_t position = 0;  // bytes taken from TCP, bells included; whoever makes the end ready sets it
  std::uint64_t tcp_left = 0;  // bytes of TCP before the stretch `entered`
  std::uint32_t passed = 0;
  std::uint32_t entered = 0;       // the stretch whose tcp_left is known
  std::uint32_t due = 0;           // bells that were, or will be, sent for times we were armed
  std::uint32_t taken = 0;         // of these, bells taken from TCP
  std::uint32_t taken_before = 0;  // of these, before the stretch `entered`
  bool leaving = false;            // the sender takes back what lies in the ring
  bool broken = false;             // bytes of TCP were taken that are no bells
  bool looks = false;  // bytes may lie in the ring without a bell: whoever waits looks for himself
  int error = 0;       // of TCP, told when the ring has been read
};

// `Wire` is the end's TCP connection, whose calls never wait and return bytes, or a negative errno:
//   receive(sink, n)   takes up to n bytes; 0: the end
//   peek(sink, n)      copies them and leaves them there; the sink does not advance
//   peek_behind(n, sink)   the same of what lies behind n bytes; none if they do not lie there
//   look()             1: there are bytes; 0: the end; -EAGAIN
//   unread()           bytes that are there; meets no error
//   is_at_mark()       the next byte is an urgent one
//   drop(n)            takes n bytes that are there
//   taken()            bytes taken of TCP ever, bells included; a negative number: cannot be told
//   take_bells(n)      takes up to n bytes, each a bell; -EPROTO: one is not
//   await_bells(n)     gives n bells moments to arrive
//   sent_by_peer()     bytes that the peer has given to TCP, ever; a negative number: cannot be told
//   resend_first(n)    takes n bytes that are there, and sends them as the peer would, behind all that it has sent; whether it could
//   resend(ring, position, start, n)   the same of n bytes of the ring
//   break_off()        the bytes are in disorder: the connection is reset
//   is_read_unseen()   somebody has taken bytes past us, so a bell that is due may never come
// Thread: holder of the connection's lock for receiving.
template <template <typename> class Word, typename Wire>
class Receiver {
 public:
  Receiver(ReceiverState& state, Direction<Word>& words, Ring ring, Wire& wire)
      : state_(state), words_(words), ring_(ring), wire_(wire) {}

  // Bytes; 0: the end; -EAGAIN: nothing now, and TCP becomes readable when there is; -EPROTO: the peer, or somebody who reads
  // the TCP connection unseen, has broken the protocol; another error of TCP. `sink` takes at most sink.left() bytes.
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

  // The same, of bytes that stay where they are. They may lie in TCP, behind them in the ring, and behind that in TCP again.
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

  // Bytes wait in the ring, as far as these words tell whoever does not hold the lock.
  [[nodiscard]] bool has_bytes_in_ring() const { return words_.written.load() != state_.consumed; }
  // Bytes that lie in the ring.
  [[nodiscard]] std::size_t in_ring() const {
    if (words_.epoch.load() == state_.passed) return 0;
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(words_.written.load() - state_.consumed, ring_.capacity()));
  }

  // Of the bytes in TCP, those that are no bytes of the program: the ones known, and one that was sent since.
  [[nodiscard]] std::uint32_t bells_in_tcp() const {
    return (words_.sleep.load() / kBell - state_.taken) & kBellsMask;
  }

  // Bells that lie in TCP, or are on their way, and are to be taken before the connection closes.
  long take_bells() {
    if (state_.due == state_.taken) return 0;
    const long count = wire_.take_bells(state_.due - state_.taken);
    if (count > 0) {
      state_.taken += static_cast<std::uint32_t>(count);
      state_.position += static_cast<std::uint64_t>(count);
    }
    return count;
  }

  // The next bytes of the ring ring a bell.
  void arm() { count_bells(words_.sleep.fetch_or(kArmed)); }
  // And so do those behind them, whenever the next ones do.
  void arm_for_each() {
    words_.sleep.fetch_or(kEach);
    if (!state_.looks) arm();
  }

  // From now on no bells, which are the sender's dearest step: before anybody sleeps, stop_looking() must have said yes.
  void look_by_itself() {
    if (state_.looks) return;
    state_.looks = true;
    disarm();
    if (is_past_mark()) keep(take_bells());
  }
  // False: there are bytes, so we go on looking, and whoever wants to wait need not. Where bytes of TCP come before these, whoever
  // waits is woken by them, and we go on looking, too.
  bool stop_looking() {
    if (!state_.looks) return true;
    arm();
    if (has_bytes_in_ring()) {  // of a turn, the bytes in TCP tell
      disarm();
      return state_.tcp_left > 0;
    }
    state_.looks = false;
    if (is_past_mark()) keep(take_bells());
    return true;
  }

  // Begins to leave the ring. What is unread the sender sends by TCP, in its next call; has_left() says when it has.
  void leave() { static_cast<void>(detach()); }
  // The same, but what is unread comes along: `own` becomes a direction that no sender changes, from which the rest is received.
  // copy(ring, position, start, n) copies the bytes. False: the sender is at it, and sends what is unread by TCP.
  // `again`: a process of the family died at it.
  template <typename Copy>
  bool leave_with(Direction<Word>& own, const Copy& copy, bool again = false) {
    const bool was_armed = detach();
    std::uint64_t end = words_.claimed.load();
    if (!again || words_.claim.load() != kReceivers) {
      // Armed still, and no bell was sent: the sender is in the middle of putting bytes there.
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
  // After leave(), and has_left(): what is unread goes to TCP though the sender makes no call, before all that it sends from now on.
  // False: not now, as the sender is in the middle of a step or a byte is on its way; or the sender is at it itself.
  bool return_unread() {
    if (!words_.claim.exchange_if(kUnclaimed, kResending)) return false;
    const bool in_stretch = state_.entered != state_.passed && words_.epoch.load() == state_.entered;
    const bool done = in_stretch && words_.in_tcp.load() == 0 && resend_unread();
    if (done) words_.claimed.store(state_.consumed);
    words_.claim.store(done ? kReceivers : kUnclaimed);
    return done;
  }
  // The sender has ended, so what it has not taken back stays ours: we receive it from the ring. False: not yet.
  bool stay() {
    words_.claimed.store(words_.written.load());
    if (!words_.claim.exchange_if(kUnclaimed, kReceivers)) {
      if (has_left() != Left::kNotYet || state_.tcp_left > 0) return false;
      // It died at it: what it has taken back is in TCP, behind the bells, and the rest in the ring.
      if (take_bells() < 0 || state_.taken != state_.due) return false;
      const auto in_tcp = static_cast<std::uint64_t>(wire_.unread());
      if (in_tcp > words_.written.load() - state_.consumed) return false;
      state_.tcp_left = in_tcp;
      state_.consumed += in_tcp;
    }
    state_.leaving = false;
    return true;
  }
  // The lock came from a process of the family that died with it. What that had taken of TCP, TCP tells.
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
    kYes,     // TCP alone has bytes for us, and they are all the program's
    kNotYet,  // the sender has to take back what is unread, or a bell is on its way
    kBehind,  // bells lie behind bytes that the program has to receive first
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
  // No bell is sent from here on, and all that were are counted. Whether we were armed.
  bool detach() {
    const std::uint32_t before = words_.sleep.fetch_or(kDetached);
    count_bells(before);
    state_.leaving = true;
    return (before & kArmed) != 0;
  }
  // In TCP lie the bytes before the ring, then bells, then those behind the ring. What is sent again comes behind them.
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
    // What we have taken along the sender knows nothing of, so it does not wait.
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
  // In a stretch, all TCP bytes before it are taken: what is in TCP now are bells, until the stretch ends.
  [[nodiscard]] bool is_past_mark() const { return state_.entered != state_.passed && state_.tcp_left == 0; }

  // Of one lane, up to where the next begins.
  template <typename Sink>
  long receive_piece(Sink& sink) {
    if (state_.broken) return -EPROTO;
    for (int round = 0; round < kRoundsMax; ++round) {
      // In this order: a stretch begun before the last one was announced would otherwise be missed.
      const bool final = words_.final.load() != 0;
      const std::uint32_t epoch = words_.epoch.load();
      if (epoch == state_.passed) {
        if (final) return told(wire_.receive(sink, sink.left()));
        const long count = wire_.peek(sink, sink.left());
        if (words_.epoch.load() == state_.passed)
          return count > 0 ? take_peeked(sink, count) : told(none(sink, count));
        keep(count);  // of the bytes some may be bells
        continue;
      }
      const long count = receive_stretch(sink, epoch);
      if (count != kAgain) return count;
    }
    return -EPROTO;
  }
  // The bytes just taken end at a change of lane, and the next are there.
  [[nodiscard]] bool has_other_piece() {
    if (has_passed_) {
      has_passed_ = false;
      return words_.epoch.load() == state_.passed && wire_.unread() > 0;
    }
    if (!is_past_mark() || state_.leaving) return false;
    if (has_bytes_in_ring()) return true;
    // A look that finds no bytes could find an error instead, which is for a later call.
    return words_.turn.load() == state_.consumed && wire_.unread() > static_cast<long>(bells_in_tcp());
  }

  static constexpr long kAgain = -1000000;
  // A peer that announces changes of lane, and no bytes, would hold a call for as long as it likes.
  static constexpr int kRoundsMax = 64;
  // More than TCP can hold on its way.
  static constexpr std::uint64_t kTcpBytesMax = std::uint64_t{1} << 32;

  static constexpr std::uint32_t kBellsMask = ~std::uint32_t{0} / kBell;
  // For each time that the bit we had set was cleared a bell was sent, or will be.
  void count_bells(std::uint32_t before) {
    state_.due = state_.taken + ((before / kBell - state_.taken) & kBellsMask);
  }

  // TCP has no bytes, or has ended. A receive that finds none steps over an urgent one, a peek does not; who has sent one opens no
  // stretch any more.
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

  // TCP tells an error once, so one that is met while the ring has bytes is kept until they are read.
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

  // The ring is read empty: TCP must not be readable any more, and must become so with the next bytes.
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
    // Of bytes that were just taken the bell may be on its way, and nobody shall see it come.
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
  // The sender's stretch ends here. All bells of it lie before the first byte of TCP.
  long pass() {
    const long result = try_pass();
    return result == kAgain ? result : told(result);
  }
  long try_pass() {
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
    // Bytes, or the end, or an error: whoever made it may have put bytes into the ring before.
    if (has_ring_news()) {
      keep(there);
      return kAgain;
    }
    if (there <= 0) return told(there);
    // A bell for bytes that were just taken. Any other byte would keep TCP readable, with nothing to read.
    return bells_in_tcp() == 0 ? -EPROTO : -EAGAIN;
  }

  ReceiverState& state_;
  Direction<Word>& words_;
  Ring ring_;
  Wire& wire_;
  bool has_passed_ = false;  // in this call, with bytes of the ring
};

}  // namespace exs::lane
