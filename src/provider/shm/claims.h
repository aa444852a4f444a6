// Decides which end moves the bytes of a READ: the peer, when it is asked, or the reading end, if the peer is
// late.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/provider/shm/transfer_words.h"

namespace exs::shm {

// Our reads that the peer carries out, or may. A claim word has a generation and the end that moves the
// bytes. The generation changes with every read, so a late step of one read cannot claim the next. Thread:
// shard.
class Claims {
 public:
  explicit Claims(std::span<std::byte> segment) : words_(transfer_words_of(segment)) {}

  struct Ticket {
    std::uint32_t claim = 0;
    std::uint32_t generation = 0;
  };
  // False: all are in use.
  bool open(Ticket& ticket);
  // No further record for this ticket may follow.
  void close(Ticket ticket);
  [[nodiscard]] bool has_begun(Ticket ticket) const;
  // False: the peer has begun.
  bool take_back(Ticket ticket);

  // We begin what the peer asked for under that ticket. False: taken back, or never given.
  static bool begin(std::span<std::byte> peer_segment, Ticket ticket);

 private:
  static constexpr std::uint32_t kAsked = 1;
  static constexpr std::uint32_t kBegun = 2;
  static std::uint32_t word(std::uint32_t generation, std::uint32_t state) { return generation << 2 | state; }

  TransferWords& words_;
  std::uint64_t in_use_ = 0;  // a bit each
  std::array<std::uint32_t, TransferWords::kClaims> generations_{};
};

}  // namespace exs::shm
