// The staging areas of a channel: bytes of READ and WRITE that take the way through shared memory, in pieces.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "src/provider/shm/transfer_words.h"

namespace exs::shm {

inline constexpr std::size_t kPieceBytes = kStagingPieceBytes;

// Our staging area, filled here and taken out by the peer. Thread: shard.
class StagingOut {
 public:
  explicit StagingOut(std::span<std::byte> segment) : segment_(segment), words_(transfer_words_of(segment)) {}

  // Empty: none is free. The same until filled().
  std::span<std::byte> room();
  // Call it once the record that announces the piece has been written.
  void filled() noexcept { ++filled_; }
  // Sets whether we sleep until pieces are free. The peer then rings when it takes one. Look at room() once
  // more afterwards.
  // looked at once more.
  void wait(bool sleeps) noexcept { words_.waits.store(sleeps ? 1 : 0, std::memory_order_seq_cst); }
  // EPROTO: the peer took a piece that was not there.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  const std::span<std::byte> segment_;
  TransferWords& words_;
  std::uint64_t filled_ = 0;
  std::uint64_t taken_ = 0;  // as last seen
  Status status_;
};

// The peer's. Thread: shard.
class StagingIn {
 public:
  explicit StagingIn(std::span<std::byte> peer_segment)
      : segment_(peer_segment), words_(transfer_words_of(peer_segment)) {}

  // The piece that the current record announces.
  [[nodiscard]] std::span<const std::byte> piece() const { return staging(segment_, taken_); }
  // True: the peer may sleep for want of pieces. It says so, then looks at the counter; here it is the other
  // way round, all in one order.
  [[nodiscard]] bool taken() noexcept {
    words_.pieces_taken.store(++taken_, std::memory_order_seq_cst);
    return words_.waits.load(std::memory_order_seq_cst) != 0;
  }

 private:
  const std::span<std::byte> segment_;
  TransferWords& words_;
  std::uint64_t taken_ = 0;
};

}  // namespace exs::shm
