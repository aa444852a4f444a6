// How long it is worth while to look for bytes before a sleep: as long as a sleep and its wake-up cost at most, less where
// looking was in vain. Thread: the owner's; a race makes it a little wrong, and no more.
#pragma once

#include <cstdint>

namespace exs::sockets {

struct Patience {
  static constexpr std::uint32_t kFirstNs = 10'000;
  static constexpr std::uint32_t kMostNs = 50'000;
  static constexpr std::uint32_t kLeastNs = 2'000;
  static constexpr std::uint32_t kRetryAfter = 64;

  std::uint32_t ns = kFirstNs;
  std::uint32_t skipped = 0;

  // What to spend now; 0: nothing.
  std::uint32_t allowance() noexcept {
    if (ns >= kLeastNs) return ns;
    if (++skipped < kRetryAfter) return 0;
    skipped = 0;
    return ns = kFirstNs;
  }
  void found() noexcept { ns = ns * 2 > kMostNs ? kMostNs : ns * 2; }
  void missed() noexcept { ns /= 2; }
};

}  // namespace exs::sockets
