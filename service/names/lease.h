// A process's view of its lease on a service at a directory. Pure.
//
// Design notes
//  1. The process counts from when it sent a message, the directory from when it received it, so the lease ends here first. The service
//     stops a while before that.
//  2. Messages on a connection arrive in order. An answer to a message sent before the lease ended here proves that the directory had not
//     ended it. A later answer proves nothing, and the service is claimed again.
//  3. Each CLAIM has one answer, in the order of the claims. A renewal that the directory received before a claim does not renew that
//     claim, and its answer arrives first.
// Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/clock.h"

namespace exs::svc {

class Lease {
 public:
  static constexpr std::uint32_t kLeaseMs = 600;
  static constexpr std::uint64_t kLeaseNs = kLeaseMs * kNsPerMs;
  static constexpr std::uint64_t kSafetyNs = 100 * kNsPerMs;

  void claim_sent(std::uint64_t now) { unanswered_ns_.push_back(now); }
  // HELD arrived.
  void granted(std::uint64_t now) {
    if (unanswered_ns_.empty()) return;
    end_at_ = std::max(end_at_, unanswered_ns_.front() + kLeaseNs);
    unanswered_ns_.pop_front();
    is_held_ = now < end_at_;
    asks_again_ = !is_held_;
  }
  // Another answer to a claim arrived. `waits`: another process's lease is running.
  void denied(bool waits) {
    if (!unanswered_ns_.empty()) unanswered_ns_.pop_front();
    is_held_ = false;
    asks_again_ = waits;
  }
  // RENEWED arrived, for the renewal sent at `sent_ns`.
  void renewed(std::uint64_t sent_ns, std::uint64_t now) {
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
  // The lease has ended, or another process's lease is running.
  [[nodiscard]] bool asks_again() const noexcept { return asks_again_; }
  // The number of claims without an answer.
  [[nodiscard]] std::size_t unanswered() const noexcept { return unanswered_ns_.size(); }
  [[nodiscard]] std::uint64_t serves_until() const noexcept { return time_left(end_at_, kSafetyNs); }

 private:
  std::deque<std::uint64_t> unanswered_ns_;  // send times of the claims without an answer
  bool is_held_ = false;                     // by this connection, as far as the process knows
  bool asks_again_ = false;
  std::uint64_t end_at_ = 0;
};

}  // namespace exs::svc
