// How much of a message's time is hidden by what both ranks compute while it travels.
#pragma once

#include <exs/msg.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace msg_ping {

// One rank's means of a message, from its post to its end.
struct Overlap {
  double alone_ns = 0;     // nothing is computed
  double computed_ns = 0;  // what the same computation takes without a message
  double together_ns = 0;  // posted, computed, waited for
  double left_ns = 0;      // of that, the wait after the computation

  // Of the time alone. A processor that moves the bytes itself hides nothing, though no call waits.
  [[nodiscard]] double hidden_percent() const noexcept;
  // The same of the waiting.
  [[nodiscard]] double waited_percent() const noexcept;
};

class OverlapMeasure {
 public:
  // Both ranks compute for about so long.
  OverlapMeasure(exm_ep_t ep, std::uint64_t compute_ns);

  // Of the first rank, which sends, and the second; the second has its own alone.
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
