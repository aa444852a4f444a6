// Chooses the way of a READ of memory that is not mapped here: in pieces, which both ends copy at the same
// time, or by a system call of the reading end. The faster way depends on the machine, on the threads' cores
// and on the length. So both are tried on the application's reads, and tried again after some thousand reads.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace exs::shm {

// Thread: shard.
class ReadChoice {
 public:
  using Clock = std::uint64_t (*)();
  explicit ReadChoice(Clock clock = monotonic_ns) noexcept : clock_(clock) {}

  // The reads of each way in a trial.
  static constexpr std::uint32_t kTrialReads = 16;
  // Before calls are timed, the timed pieces come to their end: a call holds up what arrives. So many more reads wait for that.
  static constexpr std::uint32_t kWaitedMost = 64;
  // The reads between two trials: the slower way's cost is small in these.
  static constexpr std::uint32_t kReadsAChoice = 1024;

  // Chooses for a read of that length.
  [[nodiscard]] bool prefers_call(std::size_t length_bytes) const {
    const Choice& choice = choice_for(length_bytes);
    if (choice.reads < kTrialReads) return false;
    if (choice.reads < 2 * kTrialReads) return choice.under_way == 0 || choice.waited == kWaitedMost;
    return choice.call_is_faster;
  }

  // A read in pieces begins. True: it is timed, and end_pieces() must report its end.
  [[nodiscard]] bool begin_pieces(std::size_t length_bytes);
  // `bytes_moved`: 0 if the read was cut off.
  void end_pieces(std::size_t length_bytes, std::size_t bytes_moved);

  // A system call begins. The time now, or 0 where it is not timed.
  [[nodiscard]] std::uint64_t begin_call(std::size_t length_bytes);
  void end_call(std::size_t length_bytes, std::size_t bytes_moved, std::uint64_t begun_ns);

 private:
  // What a way took, in ns a byte. In each trial the median counts: a thread that loses its processor in one read says nothing of the
  // others.
  class Speed {
   public:
    void note(std::size_t bytes, std::uint64_t ns) noexcept;
    // kNothing: nothing came.
    [[nodiscard]] float estimate() const noexcept;
    // One trial proves little. Earlier ones count, too, each with less weight.
    void fade() noexcept;

   private:
    std::array<float, kTrialReads> reads_{};  // of this trial
    std::size_t count_ = 0;
    float earlier_ = 0;  // 0: there was none
  };
  static constexpr float kNothing = 1e9F;
  struct Choice {
    std::uint32_t reads = 0;  // since the last trial began
    bool call_is_faster = false;
    Speed pieces;  // while pieces were in progress
    Speed call;
    std::uint32_t under_way = 0;   // of the timed pieces
    std::uint32_t waited = 0;      // for their end, in this trial
    std::uint64_t counted_ns = 0;  // until then time has been counted for pieces
  };
  static constexpr std::size_t kLengths = 4;

  static std::size_t length_class(std::size_t length_bytes);
  [[nodiscard]] Choice& choice_for(std::size_t length_bytes) { return choices_[length_class(length_bytes)]; }
  [[nodiscard]] const Choice& choice_for(std::size_t length_bytes) const {
    return choices_[length_class(length_bytes)];
  }
  static void count(Choice& choice);
  static bool is_faster(const Speed& call, const Speed& pieces);

  const Clock clock_;
  std::array<Choice, kLengths> choices_;
};

}  // namespace exs::shm
