// Limits warnings to a few lines of each cause at a time, so that a peer cannot fill a disk by causing them
// again and again. The others are counted.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace exs {

// Thread: one at a time.
class LogLimit {
 public:
  static constexpr std::uint64_t kWindowNs = 10'000'000'000;
  static constexpr unsigned kLinesAWindow = 8;

  // Lines that were not written.
  struct LeftOut {
    std::string_view cause;
    std::uint64_t lines = 0;
  };

  // True: a line of this cause may be written. A cause is a text that lives for ever. `before` becomes the
  // number left out, if it is time to report that; otherwise its lines are 0.
  bool admit(std::string_view cause, std::uint64_t now_ns, LeftOut& before);
  // Returns everything that was left out and not reported. Every cause begins anew.
  std::vector<LeftOut> clear();

 private:
  struct LimitWindow {
    std::uint64_t begun_ns = 0;
    unsigned lines = 0;
    std::uint64_t left_out = 0;
  };

  std::unordered_map<std::string_view, LimitWindow> windows_;
};

}  // namespace exs
