// Which way a READ takes of memory that is not mapped here: in pieces, which both ends copy at the same time, or by a system call
// of the end that reads. Which is faster depends on the machine, on the cores that the two threads run on and on the length,
// so both are tried, on the reads of the application, and tried again after some thousand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/clock.h"

namespace exs::shm {

// Thread: shard.
class ReadChoice {
 public:
  using Clock = std::uint64_t (*)();
  explicit ReadChoice(Clock clock = monotonic_ns) noexcept : clock_(clock) {}

  // Of each way, in a trial.
  static constexpr std::uint32_t kTrialReads = 16;
  // From one trial to the next: what the slower way costs in it is hardly seen.
  static constexpr std::uint32_t kReadsAChoice = 1024;

  // Of a read of that length.
  [[nodiscard]] bool prefers_call(std::size_t length_bytes) const {
    const Choice& choice = choice_for(length_bytes);
    if (choice.reads < kTrialReads) return false;
    return choice.reads < 2 * kTrialReads || choice.call_is_faster;
  }

  // A read in pieces begins. True: it is timed, and end_pieces() must tell of its end.
  [[nodiscard]] bool begin_pieces(std::size_t length_bytes);
  // `bytes_moved`: 0 where the read was cut off.
  void end_pieces(std::size_t length_bytes, std::size_t bytes_moved);

  // A system call begins. The time now, or 0 where it is not timed.
  [[nodiscard]] std::uint64_t begin_call(std::size_t length_bytes);
  void end_call(std::size_t length_bytes, std::size_t bytes_moved, std::uint64_t begun_ns);

 private:
  struct Speed {
    std::uint64_t bytes = 0;
    std::uint64_t ns = 0;
    // One trial tells little: what came of those before counts, too, and less each time.
    void fade() {
      bytes /= 2;
      ns /= 2;
    }
  };
  struct Choice {
    std::uint32_t reads = 0;  // since the last trial began
    bool call_is_faster = false;
    Speed pieces;  // while any was under way
    Speed call;
    std::uint32_t under_way = 0;
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
