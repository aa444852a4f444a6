// The part of a message's time that is hidden by computation of both ranks.
#pragma once

#include <exs/msg.h>

#include <cstddef>
#include <cstdint>
#include <vector>

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

class OverlapMeasure {
 public:
  // Both ranks compute for about this long.
  OverlapMeasure(exm_ep_t ep, std::uint64_t compute_ns);

  // Returns the times of the first rank, which sends, and of the second. The second rank returns its own alone.
  std::vector<Overlap> measure(std::size_t size_bytes, std::uint64_t rounds);

 private:
  void meet();
  void round(bool computes, Overlap& sum);

  const exm_ep_t ep_;
  const bool is_sender_;
  std::uint64_t work_ = 0;  // steps of the computation
  std::vector<char> bytes_;
};

}  // namespace msg_ping
