// What a process knows of the lease of a service at a directory. Pure.
//
// Design notes
//  1. The process counts from when it said something, the directory from when it heard that, so the lease ends here first; and the
//     service stops a while before that.
//  2. What is said on a connection arrives in order. So an answer to what was said before the lease ended here proves that it had not
//     ended there. An answer that comes later proves nothing, and the service is claimed again.
//  3. Each CLAIM has one answer, in the order of the claims. A renewal that the directory has heard before a claim renews nothing of it,
//     and its answer is here before that of the claim.
// Thread: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "service/names/clock.h"

namespace exs::svc {

class Lease {
 public:
  static constexpr std::uint32_t kLeaseMs = 600;
  static constexpr std::int64_t kLeaseNs = kLeaseMs * kNsPerMs;
  static constexpr std::int64_t kSafetyNs = 100 * kNsPerMs;

  void claim_sent(std::int64_t now) { unanswered_ns_.push_back(now); }
  // HELD.
  void granted(std::int64_t now) {
    if (unanswered_ns_.empty()) return;
    end_at_ = std::max(end_at_, unanswered_ns_.front() + kLeaseNs);
    unanswered_ns_.pop_front();
    is_held_ = now < end_at_;
    asks_again_ = !is_held_;
  }
  // Any other answer to a claim. `waits`: another's lease runs.
  void denied(bool waits) {
    if (!unanswered_ns_.empty()) unanswered_ns_.pop_front();
    is_held_ = false;
    asks_again_ = waits;
  }
  // RENEWED, of what was sent then.
  void renewed(std::int64_t sent_ns, std::int64_t now) {
    if (!is_held_) return;
    is_held_ = now < end_at_;
    asks_again_ = !is_held_;
    if (is_held_) end_at_ = std::max(end_at_, sent_ns + kLeaseNs);
  }
  void disconnected() {
    unanswered_ns_.clear();
    is_held_ = false;
  }

  [[nodiscard]] bool is_held() const noexcept { return is_held_; }
  // It has ended, or another's runs.
  [[nodiscard]] bool asks_again() const noexcept { return asks_again_; }
  // Claims that have no answer yet.
  [[nodiscard]] std::size_t unanswered() const noexcept { return unanswered_ns_.size(); }
  [[nodiscard]] std::int64_t serves_until() const noexcept { return end_at_ - kSafetyNs; }

 private:
  std::deque<std::int64_t> unanswered_ns_;  // when each claim was sent that has no answer
  bool is_held_ = false;                    // by this connection, as far as is known
  bool asks_again_ = false;
  std::int64_t end_at_ = 0;
};

}  // namespace exs::svc
