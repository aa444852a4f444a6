// SPDX-License-Identifier: BSD-2-Clause
#include "perf/msg_ping/overlap.h"

#include <algorithm>
#include <cerrno>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/units.h"

namespace msg_ping {
namespace {

constexpr int kOverlapTag = 11;
constexpr int kMeetTag = 12;
constexpr int kFiguresTag = 13;
constexpr int kGoOnTag = 14;

void require(int outcome, const char* what) {
  if (outcome < 0) tools::fail(what, errno);
}

// Each step needs the one before, and none touches memory. The sum keeps the compiler from dropping them.
double compute(std::uint64_t steps) {
  double sum = 1;
  for (std::uint64_t i = 0; i < steps; ++i) sum = sum * 0.999999 + 1e-9;
  volatile const double kept = sum;
  return kept;
}

std::uint64_t time_of(std::uint64_t steps) {
  const std::uint64_t start_ns = exs::monotonic_ns();
  compute(steps);
  return exs::monotonic_ns() - start_ns;
}

double percent(double part, double whole) {
  return whole <= 0 ? 0 : std::clamp(100 * (1 - part / whole), 0.0, 100.0);
}

}  // namespace

double Overlap::hidden_percent() const noexcept {
  return percent(together_ns - computed_ns, alone_ns);
}
double Overlap::waited_percent() const noexcept {
  return 100 - percent(left_ns, alone_ns);
}

OverlapMeasure::OverlapMeasure(exm_ep_t ep, std::uint64_t compute_ns)
    : ep_(ep), is_sender_(exm_rank(ep) == 0) {
  constexpr std::uint64_t kTried = 1'000'000;
  meet();
  std::uint64_t took_ns = UINT64_MAX;
  for (int i = 0; i < 10; ++i) took_ns = std::clamp<std::uint64_t>(time_of(kTried), 1, took_ns);
  work_ = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(compute_ns) * kTried / static_cast<double>(took_ns)));
}

// Returns when each rank has heard from the other.
void OverlapMeasure::meet() {
  const int other = is_sender_ ? 1 : 0;
  require(exm_send(ep_, nullptr, 0, other, kMeetTag, 0, 0), "cannot send");
  require(exm_recv(ep_, nullptr, 0, other, kMeetTag, 0, nullptr), "cannot receive");
}

// The receive is posted before the message leaves.
void OverlapMeasure::round(bool computes, Overlap& sum) {
  exm_request_t request = 0;
  if (!is_sender_)
    require(exm_irecv(ep_, bytes_.data(), bytes_.size(), 0, kOverlapTag, 0, &request), "cannot receive");
  meet();
  const std::uint64_t start_ns = exs::monotonic_ns();
  if (is_sender_)
    require(exm_isend(ep_, bytes_.data(), bytes_.size(), 1, kOverlapTag, 0, 0, &request), "cannot send");
  if (computes) compute(work_);
  const std::uint64_t computed_ns = exs::monotonic_ns();
  require(exm_wait(ep_, &request, nullptr, -1), "cannot wait");
  const std::uint64_t end_ns = exs::monotonic_ns();
  const auto took_ns = static_cast<double>(end_ns - start_ns);
  if (!computes) {
    sum.alone_ns += took_ns;
  } else {
    sum.together_ns += took_ns;
    sum.left_ns += static_cast<double>(end_ns - computed_ns);
  }
}

// The first rank decides for both.
bool OverlapMeasure::agree_to_go_on() {
  char goes_on = is_sender_ && tools::interrupted() ? 0 : 1;
  if (is_sender_) {
    require(exm_send(ep_, &goes_on, sizeof goes_on, 1, kGoOnTag, 0, 0), "cannot send");
  } else {
    require(exm_recv(ep_, &goes_on, sizeof goes_on, 0, kGoOnTag, 0, nullptr), "cannot receive");
  }
  return goes_on != 0;
}

// Alternates the measurements, because a shared machine's speed changes.
Overlap OverlapMeasure::sum_rounds(std::uint64_t most, std::uint64_t& rounds) {
  Overlap sum;
  for (rounds = 0; rounds < most && agree_to_go_on(); ++rounds) {
    round(false, sum);
    meet();
    sum.computed_ns += static_cast<double>(time_of(work_));
    round(true, sum);
    if (is_sender_) line_.update(rounds + 1);
  }
  return sum;
}

OverlapResult OverlapMeasure::measure(std::size_t size_bytes, std::uint64_t rounds) {
  bytes_.assign(size_bytes, 1);
  Overlap warm_up;
  round(false, warm_up);
  line_.begin(tools::format_size(size_bytes), "messages", {rounds, 0});
  OverlapResult result;
  Overlap mine = sum_rounds(rounds, result.rounds);
  line_.clear();
  if (result.rounds == 0) return result;
  for (double* const sum : {&mine.alone_ns, &mine.computed_ns, &mine.together_ns, &mine.left_ns})
    *sum /= static_cast<double>(result.rounds);
  if (is_sender_) {
    result.sender = mine;
    require(exm_recv(ep_, &result.receiver, sizeof mine, 1, kFiguresTag, 0, nullptr), "cannot receive");
  } else {
    result.receiver = mine;
    require(exm_send(ep_, &mine, sizeof mine, 0, kFiguresTag, 0, 0), "cannot send");
  }
  return result;
}

}  // namespace msg_ping
