// A peer of a lane that stores anything into the words and the ring, at any moment. No byte outside of
// the ring may be touched, no call may run for ever, and no call may report more than fits.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "sockets/lane/receiver.h"
#include "sockets/lane/sender.h"
#include "tests/support/dice.h"

namespace exs::lane::test {

using exs::test::Dice;

inline constexpr std::size_t kCapacity = 4096;
inline constexpr std::size_t kSinkBytes = 3 * kCapacity;
// The limit for one call. The longest one receives kSinkBytes, byte by byte.
inline constexpr std::size_t kLoadsMax = 64 * kSinkBytes;

// The peer stores values near those that the victim knows, or arbitrary ones.
class Peer {
 public:
  enum class Kind { kAnything, kEmptyStretches };
  explicit Peer(Dice& dice, Kind kind = Kind::kAnything) : dice_(dice), kind_(kind) {}

  lane::ReceiverState receiver;
  lane::SenderState sender;
  std::size_t loads = 0;

  std::uint64_t below(std::uint64_t limit) { return dice_.below(limit); }
  [[nodiscard]] bool only_empty_stretches() const { return kind_ == Kind::kEmptyStretches; }
  std::uint64_t word(std::uint64_t known) {
    EXS_CHECK(++loads < kLoadsMax);
    switch (below(10)) {
      case 0: return dice_();
      case 1: return ~std::uint64_t{0};
      case 2: return known + kCapacity;
      case 3: return known + kCapacity + 1;
      case 4: return known - 1;
      case 5: return known + 1;
      case 6: return known + below(kCapacity + 2);
      case 7: return 0;
      default: return known;
    }
  }

 private:
  Dice& dice_;
  Kind kind_;
};
inline std::optional<Peer> g_peer;  // NOLINT

// Each load returns a new value.
template <typename T>
struct HostileWord {
  std::uint64_t (*known)() = [] { return std::uint64_t{0}; };
  std::uint64_t (*empty)() = nullptr;  // the value during an empty stretch

  [[nodiscard]] T load() const {
    if (g_peer->only_empty_stretches()) {
      EXS_CHECK(++g_peer->loads < kLoadsMax);
      return static_cast<T>(empty == nullptr ? 0 : empty());
    }
    return static_cast<T>(g_peer->word(known()));
  }
  void store(T) {}
  T fetch_or(T) { return load(); }
  T fetch_and(T) { return load(); }
  T exchange(T) { return load(); }
  template <typename Change>
  T update(const Change&) {
    return load();
  }
  bool exchange_if(T, T) { return g_peer->below(2) == 0; }
};
using Words = lane::Direction<HostileWord>;

inline Words hostile_words(bool of_receiver) {
  Words words;
  if (of_receiver) {
    words.written.known = words.turn.known = [] { return g_peer->receiver.consumed; };
    words.written.empty = words.turn.empty = words.written.known;
    words.mark.known = words.mark.empty = [] { return g_peer->receiver.position; };
    words.epoch.known = words.epoch.empty = [] { return std::uint64_t{g_peer->receiver.passed} + 1; };
    words.sleep.empty = [] { return std::uint64_t{lane::kArmed}; };
  } else {
    words.consumed.known = [] { return g_peer->sender.written; };
    words.passed.known = [] { return std::uint64_t{g_peer->sender.epoch}; };
    words.ready.known = [] { return std::uint64_t{1}; };
  }
  return words;
}

// Bytes between pages that forbid any access.
class GuardedBytes {
 public:
  GuardedBytes() {
    constexpr std::size_t kPages = 3;
    place_ = static_cast<std::byte*>(
        ::mmap(nullptr, kPages * kCapacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(bytes(), kCapacity, PROT_READ | PROT_WRITE);
  }
  ~GuardedBytes() { ::munmap(place_, 3 * kCapacity); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  [[nodiscard]] std::byte* bytes() const { return place_ + kCapacity; }
  [[nodiscard]] bool holds(const std::byte* at, std::size_t count) const {
    return at >= bytes() && count <= kCapacity && at + count <= bytes() + kCapacity;
  }

 private:
  std::byte* place_;
};

// The program's memory.
struct Memory {
  const GuardedBytes& ring;
  std::size_t size;
  std::byte bytes[kSinkBytes] = {};
  std::size_t used = 0;

  [[nodiscard]] std::size_t left() const { return size - used; }
  void advance(std::size_t count) {
    EXS_CHECK(count <= left());
    used += count;
  }
  void copy_from(const std::byte* from, std::size_t count) {
    EXS_CHECK(ring.holds(from, count));
    EXS_CHECK(count <= left());
    std::memcpy(bytes + used, from, count);
    used += count;
  }
  void copy_to(std::byte* to, std::size_t count) {
    EXS_CHECK(ring.holds(to, count));
    EXS_CHECK(count <= left());
    std::memcpy(to, bytes + used, count);
    used += count;
  }
};

// A TCP connection with arbitrary answers, within the bounds of the question.
struct AnyWire {
  const GuardedBytes& ring;

  static long any(std::size_t limit) {
    switch (g_peer->below(8)) {
      case 0: return 0;
      case 1: return -ECONNRESET;
      case 2:
      case 3: return limit == 0 ? -EAGAIN : static_cast<long>(1 + g_peer->below(limit));
      default: return -EAGAIN;
    }
  }
  long receive(Memory& sink, std::size_t limit) {
    EXS_CHECK(limit <= sink.left());
    const long count = any(limit);
    if (count > 0) sink.advance(static_cast<std::size_t>(count));
    return count;
  }
  long peek(const Memory& sink, std::size_t limit) {
    EXS_CHECK(limit <= sink.left());
    return any(limit);
  }
  long peek_behind(std::size_t, const Memory& sink) { return any(sink.left()); }
  long look() { return any(1); }
  long unread() { return static_cast<long>(g_peer->below(3)); }
  long drop(std::size_t count) { return any(count); }
  long take_bells(std::uint32_t count) { return g_peer->below(16) == 0 ? -EPROTO : any(count); }
  static bool is_at_mark() { return g_peer->below(8) == 0; }
  static void await_bells(std::uint32_t) {}
  static std::int64_t sent_by_peer() {
    return static_cast<std::int64_t>(g_peer->word(g_peer->receiver.position));
  }
  bool resend_first(std::size_t) { return g_peer->below(2) == 0; }
  bool resend(const lane::Ring& from, std::uint64_t position, std::uint64_t start, std::size_t count) {
    return send_back(from, position, start, count) == 0;
  }
  static void break_off() {}
  bool is_read_unseen() { return g_peer->below(16) == 0; }
  long ring_bell() { return any(1) < -EAGAIN ? -ECONNRESET : 0; }
  long send_back(const lane::Ring& from, std::uint64_t position, std::uint64_t start, std::size_t count) {
    Memory sink{ring, count};
    EXS_CHECK(count <= kCapacity);
    from.get(position, start, count, sink);
    return 0;
  }
  template <typename Word>
  bool await(const Word&, std::uint32_t) {
    return g_peer->below(2) == 0;
  }
  std::int64_t sent() { return static_cast<std::int64_t>(g_peer->below(3)) - 1; }
};

using Receiver = lane::Receiver<HostileWord, AnyWire>;
using Sender = lane::Sender<HostileWord, AnyWire>;

inline bool is_told(long result, std::size_t limit) {
  if (result > 0) return static_cast<std::size_t>(result) <= limit;
  return result == 0 || result == -EAGAIN || result == -EPROTO || result == -ECONNRESET;
}

inline void call(Receiver& receiver, Peer& peer, const GuardedBytes& ring, Words& own) {
  const auto copy = [&](const lane::Ring& from, std::uint64_t position, std::uint64_t start,
                        std::size_t count) {
    EXS_CHECK(count <= kCapacity);
    Memory sink{ring, count};
    from.get(position, start, count, sink);
  };
  Memory sink{ring, 1 + peer.below(kSinkBytes)};
  const std::size_t limit = sink.left();
  switch (peer.below(12)) {
    case 0: EXS_CHECK(receiver.in_ring() <= kCapacity); break;
    case 1: receiver.look_by_itself(); break;
    case 2: receiver.stop_looking(); break;
    case 3: receiver.has_left(); break;
    case 4: receiver.take_bells(); break;
    case 5:
      if (peer.below(8) == 0) receiver.leave();
      break;
    case 6:
      if (peer.below(8) == 0) receiver.leave_with(own, copy);
      if (peer.receiver.leaving) receiver.return_unread();
      break;
    case 7:
    case 8: EXS_CHECK(is_told(receiver.peek(sink), limit)); break;
    default: EXS_CHECK(is_told(receiver.receive(sink), limit)); break;
  }
}

inline void call(Sender& sender, Peer& peer, const GuardedBytes& ring) {
  if (!sender.is_open()) {
    if (sender.may_open()) sender.open();
    return;
  }
  const std::size_t room = sender.room();
  EXS_CHECK(room <= kCapacity);
  if (peer.below(16) == 0) {
    sender.take_back();
  } else if (room == 0 || peer.below(8) == 0) {
    sender.turn();
  } else {
    Memory source{ring, room};
    sender.put(source, room);
  }
}

}  // namespace exs::lane::test
