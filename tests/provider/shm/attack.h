// A hostile peer of a link over shared memory: records of all kinds with fields that are nearly right, wild words in its
// own and our segment, in any order. Our end must live, write into nothing but its windows and posted
// receives, and end in nothing but ended links.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/provider/shm/hostile_peer.h"
#include "tests/support/dice.h"

namespace exs::shm::test {

using exs::test::Dice;

inline constexpr std::size_t kGuardBytes = 4096;
inline constexpr std::size_t kWindowBytes = 200'000;
inline constexpr std::byte kGuard{0xA5};

// A window between two guards.
struct Guarded {
  std::vector<std::byte> memory = std::vector<std::byte>(kWindowBytes + 2 * kGuardBytes, kGuard);
  std::span<std::byte> inside() { return std::span(memory).subspan(kGuardBytes, kWindowBytes); }
  bool guards_hold() const {
    const auto is_guard = [](std::byte byte) { return byte == kGuard; };
    return std::all_of(memory.begin(), memory.begin() + kGuardBytes, is_guard) &&
           std::all_of(memory.end() - kGuardBytes, memory.end(), is_guard);
  }
};

class Attack {
 public:
  // The dice decide in the order of the calls.
  explicit Attack(Dice& dice) : dice_(dice), pair_(settings(), {8, 16, 8, 64}) {
    readable_ = expose(read_memory_, Access::kRemoteRead);
    writable_ = expose(write_memory_, Access::kRemoteWrite);
    sinks_.resize(8);
  }

  // Some steps of both sides; false: the link is over.
  bool go_on() {
    for (int i = 0; i < 40; ++i) step();
    pair_.turns(2);
    return ending() == -1;
  }
  void step() {
    ours();
    theirs();
    if (below(3) == 0) pair_.turn();
    if (below(20) == 0) (void)pair_.port->arm();
    if (below(5) == 0) pair_.port->disarm();
  }
  void end() {
    if (below(2) == 0) pair_.link->close();
    pair_.turns(2);
    pair_.link.reset();
    pair_.turns(2);
  }
  bool memory_is_whole() {
    const auto untouched = read_memory_.inside();
    bool whole =
        read_memory_.guards_hold() && write_memory_.guards_hold() &&
        std::all_of(untouched.begin(), untouched.end(), [](std::byte byte) { return byte == kGuard; });
    for (const Guarded& sink : sinks_) whole = whole && sink.guards_hold();
    return whole;
  }
  [[nodiscard]] int ending() { return pair_.end_of(); }

 private:
  Settings settings() {
    Settings chosen;
    chosen.process_vm = below(2) == 0;
    return chosen;
  }
  std::uint64_t below(std::uint64_t end) { return dice_.below(end); }
  std::uint64_t near(std::uint64_t value) { return dice_.near(value); }
  RemoteSlice expose(Guarded& memory, Access access) {
    const auto window = pair_.link->expose(slice_of(memory.inside()), access);
    require(window.has_value(), "expose");
    return *window;
  }

  std::uint64_t peer_address() {
    return below(300) == 0 ? 4096 : reinterpret_cast<std::uintptr_t>(peer_memory_.data());
  }

  void ours() {
    Link& link = *pair_.link;
    Guarded& sink = sinks_[below(sinks_.size())];
    switch (below(6)) {
      case 0:
        if (link.post_recv({sink.inside().data(), 3000, {}}, 1).ok()) ++rooms_;
        break;
      case 1: (void)link.post_send(text_bytes("from the honest side"), {}, 2); break;
      case 2: {
        const std::size_t bytes = below(kWindowBytes);
        // Memory of the peer, or that is not there, or a region that it never announced.
        const std::uint64_t address = below(2) == 0 ? peer_address() : region_address(7, below(100), bytes);
        if (bytes > 16384) (void)link.post_read({sink.inside().data(), bytes, {}}, {address, bytes, 9}, 3);
        break;
      }
      case 3: {
        const std::size_t bytes = below(kWindowBytes);
        if (bytes > 16384) {
          (void)link.post_write(slice_of(read_memory_.inside().first(bytes)), {peer_address(), bytes, 9}, 4);
        }
        break;
      }
      case 4: {
        if (below(300) != 0 || link.withdraw(writable_.key) != Status()) break;
        const auto window = link.expose(slice_of(write_memory_.inside()), Access::kRemoteWrite);
        if (window) writable_ = *window;
        break;
      }
      default: break;
    }
  }

  void theirs() {
    TransferWords& own = transfer_words_of(pair_.channel().segment());
    TransferWords& ours = transfer_words_of(pair_.channel().peer_segment());
    switch (below(40)) {
      case 0: own.closings.store(below(30) == 0 ? dice_() : ends_); break;
      case 1: own.accessing.store(static_cast<std::uint32_t>(near(0))); break;
      case 2:
        if (below(200) == 0) ours.pieces_taken.store(near(taken_));
        break;
      case 3: ours.claims[below(64)].store(static_cast<std::uint32_t>(dice_())); break;
      case 4: own.claims[below(64)].store(static_cast<std::uint32_t>(dice_())); break;
      case 5: {
        // Records of the ring itself.
        const std::span<std::byte> segment = pair_.channel().segment();
        if (below(200) == 0) segment[below(kStagingOffset)] = static_cast<std::byte>(dice_());
        break;
      }
      case 6:
      case 7: take_all(); break;
      case 8: {
        const auto claim = static_cast<std::uint32_t>(below(8));
        (void)Claims::begin(pair_.channel().peer_segment(), {claim, ours.claims[claim].load() >> 2});
        break;
      }
      default: record(); break;
    }
  }

  // What our end wrote: pieces are taken, so that it can go on.
  void take_all() {
    RecordHeader header;
    for (int i = 0; i < 64 && pair_.channel().in().peek(header); ++i) {
      if (header.kind == static_cast<std::uint16_t>(RecordKind::kReadPiece) ||
          header.kind == static_cast<std::uint16_t>(RecordKind::kWritePiece)) {
        transfer_words_of(pair_.channel().peer_segment()).pieces_taken.store(++taken_);
      }
      if (pair_.channel().in().pop()) pair_.channel().wake_peer();
    }
  }

  void record() {
    const auto to = static_cast<std::uint32_t>(below(20) == 0 ? near(pair_.slot.peer_number())
                                                              : pair_.slot.peer_number());
    switch (below(8)) {
      case 0: {
        std::byte bytes[3001] = {};
        if (rooms_ == 0 && below(500) != 0) break;
        rooms_ -= rooms_ > 0 && to == pair_.slot.peer_number() ? 1 : 0;
        pair_.write(to, 1,
                    std::span(bytes).first(below(500) == 0 ? 3001 : below(below(2) == 0 ? 100 : 3000)));
        break;
      }
      case 1:
        if (below(50) == 0) pair_.write(to, static_cast<std::uint16_t>(below(9)), {}, 7);
        break;
      case 2:
      case 3: {
        const auto claim = static_cast<std::uint32_t>(below(1000) == 0 ? near(63) : below(64));
        const auto generation = static_cast<std::uint32_t>(below(1000));
        if (claim < TransferWords::kClaims) {
          transfer_words_of(pair_.channel().segment()).claims[claim].store(generation << 2 | 1);
        }
        const RemoteSlice& window = below(500) == 0 ? writable_ : readable_;
        const std::uint64_t length = 1 + below(kWindowBytes);
        ReadRequest request{claim, generation, window.key, 0, window.address, length};
        if (below(4) == 0) request.address += kWindowBytes - length;
        if (below(500) == 0) request.address = near(request.address);
        if (below(500) == 0) request.length_bytes = near(length);
        if (below(500) == 0) request.key = static_cast<std::uint32_t>(near(request.key));
        pair_.write(to, 4, body_bytes(request));
        break;
      }
      case 4: {
        const auto claim = static_cast<std::uint32_t>(below(8));
        const std::uint32_t word = transfer_words_of(pair_.channel().peer_segment()).claims[claim].load();
        ReadPiece piece{claim, word >> 2,
                        static_cast<std::uint32_t>(1 + below(below(20) == 0 ? kPieceBytes : 4000))};
        if (below(500) == 0) piece.generation = static_cast<std::uint32_t>(near(piece.generation));
        if (below(500) == 0) piece.length_bytes = static_cast<std::uint32_t>(near(kPieceBytes));
        if ((word & 3) == 2 || below(500) == 0) pair_.write(to, 5, body_bytes(piece));
        break;
      }
      case 5:
      case 6: {
        const std::uint64_t length = 1 + below(kPieceBytes);
        WritePiece piece{writable_.address + below(kWindowBytes - length), writable_.key,
                         static_cast<std::uint32_t>(length)};
        if (below(500) == 0) piece.address = near(writable_.address + kWindowBytes - length);
        if (below(500) == 0) piece.length_bytes = static_cast<std::uint32_t>(near(length));
        if (below(500) == 0) piece.key = static_cast<std::uint32_t>(near(piece.key));
        pair_.write(to, 6, body_bytes(piece));
        break;
      }
      default:
        if (below(200) != 0) break;
        ++ends_;
        pair_.write(to, 3, {}, static_cast<std::uint16_t>(below(5)));
        break;
    }
  }

  Dice& dice_;
  std::vector<std::byte> peer_memory_ = std::vector<std::byte>(kWindowBytes);
  Guarded read_memory_;
  Guarded write_memory_;
  std::vector<Guarded> sinks_;
  HostilePair pair_;  // dies before the memory
  RemoteSlice readable_;
  RemoteSlice writable_;
  std::uint64_t taken_ = 0;
  std::uint64_t ends_ = 0;
  std::uint64_t rooms_ = 0;  // posted, as far as the peer can tell
};

}  // namespace exs::shm::test
