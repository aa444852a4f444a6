// The part of a message's time that is hidden by computation of both ranks.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/msg.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/common/progress_line.h"

namespace msg_ping {

// One rank's mean times of a message, from its post to its completion.
struct Overlap {
  double alone_ns = 0;     // without computation
  double computed_ns = 0;  // of the same computation without a message
  double together_ns = 0;  // post, computation and wait
  double left_ns = 0;      // of that, the wait after the computation

  // Relative to alone_ns. If the processor moves the bytes itself, nothing is hidden, although no call waits.
  [[nodiscard]] double hidden_percent() const noexcept;
  // The same, of the time spent waiting.
  [[nodiscard]] double waited_percent() const noexcept;
};

struct OverlapResult {
  std::uint64_t rounds = 0;
  Overlap sender;
  Overlap receiver;
};

class OverlapMeasure {
 public:
  // Both ranks compute for about this long.
  OverlapMeasure(exm_ep_t ep, std::uint64_t compute_ns);

  // The first rank sends, and returns the times of both. The second returns its own alone. After a signal to the first rank both begin no
  // more rounds.
  OverlapResult measure(std::size_t size_bytes, std::uint64_t rounds);

 private:
  void meet();
  [[nodiscard]] bool agree_to_go_on();
  [[nodiscard]] Overlap sum_rounds(std::uint64_t most, std::uint64_t& rounds);
  void round(bool computes, Overlap& sum);

  const exm_ep_t ep_;
  const bool is_sender_;
  std::uint64_t work_ = 0;  // steps of the computation
  std::vector<char> bytes_;
  tools::ProgressLine line_;  // of the first rank
};

}  // namespace msg_ping
