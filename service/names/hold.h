// What a node and the housekeeper share about the claim of a service: whether it has been overtaken, and until when it may serve. The
// housekeeper writes, the node reads before it serves anybody, so it matters to neither when the other has its turn. Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace exs::svc {

class Hold {
 public:
  explicit Hold(bool is_fenced) noexcept : is_fenced_(is_fenced) {}

  // A directory has granted a lease, which lasts longer than that.
  void extend(std::int64_t until_ns) noexcept { until_ns_.store(until_ns); }
  // Its record has been made newer than another.
  void raise(std::uint64_t epoch) noexcept { epoch_.store(epoch); }
  // Somebody else is the service.
  void lose() noexcept { is_lost_.store(true); }

  // It serves only while it has a lease.
  [[nodiscard]] bool is_fenced() const noexcept { return is_fenced_; }
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(); }
  // 0: that of the record that was claimed.
  [[nodiscard]] std::uint64_t raised_epoch() const noexcept { return epoch_.load(); }
  [[nodiscard]] std::int64_t until_ns() const noexcept { return until_ns_.load(); }
  [[nodiscard]] bool was_granted() const noexcept { return until_ns() != 0; }
  [[nodiscard]] bool may_serve(std::int64_t now) const noexcept {
    return !is_lost() && (!is_fenced_ || now < until_ns());
  }

 private:
  const bool is_fenced_;
  std::atomic<bool> is_lost_{false};
  std::atomic<std::int64_t> until_ns_{0};
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace exs::svc
