// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/read_choice.h"

#include <algorithm>

namespace exs::shm {

void ReadChoice::Speed::note(std::size_t bytes, std::uint64_t ns) noexcept {
  if (count_ == reads_.size()) return;
  reads_[count_++] = bytes == 0 ? kNothing : static_cast<float>(ns) / static_cast<float>(bytes);
}

float ReadChoice::Speed::estimate() const noexcept {
  if (count_ == 0) return kNothing;
  auto reads = reads_;
  const auto median = reads.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
  std::nth_element(reads.begin(), median, reads.begin() + static_cast<std::ptrdiff_t>(count_));
  return *median == kNothing || earlier_ == 0 ? *median : (2 * *median + earlier_) / 3;
}

void ReadChoice::Speed::fade() noexcept {
  const float now = estimate();
  earlier_ = now == kNothing ? 0 : now;
  count_ = 0;
}

// The time of pieces holds what the application does between them, that of calls does not, so a call has to be a little faster.
bool ReadChoice::is_faster(const Speed& call, const Speed& pieces) {
  return 1.1F * call.estimate() < pieces.estimate();
}

std::size_t ReadChoice::length_class(std::size_t length_bytes) {
  constexpr std::size_t kKiB = 1024;
  if (length_bytes <= 16 * kKiB) return 0;
  if (length_bytes <= 64 * kKiB) return 1;
  return length_bytes <= 256 * kKiB ? 2 : 3;
}

void ReadChoice::count(Choice& choice) {
  ++choice.reads;
  if (choice.reads == 2 * kTrialReads) choice.call_is_faster = is_faster(choice.call, choice.pieces);
  if (choice.reads < kReadsAChoice) return;
  choice.reads = choice.waited = 0;
  choice.pieces.fade();
  choice.call.fade();
}

bool ReadChoice::begin_pieces(std::size_t length_bytes) {
  Choice& choice = choice_for(length_bytes);
  const bool is_timed = choice.reads < kTrialReads;
  if (!is_timed && choice.reads < 2 * kTrialReads) {
    ++choice.waited;
    return false;
  }
  if (is_timed && choice.under_way++ == 0) choice.counted_ns = clock_();
  count(choice);
  return is_timed;
}

void ReadChoice::end_pieces(std::size_t length_bytes, std::size_t bytes_moved) {
  Choice& choice = choice_for(length_bytes);
  const std::uint64_t now_ns = clock_();
  choice.pieces.note(bytes_moved, now_ns - choice.counted_ns);
  choice.counted_ns = now_ns;
  --choice.under_way;
}

std::uint64_t ReadChoice::begin_call(std::size_t length_bytes) {
  Choice& choice = choice_for(length_bytes);
  const bool is_timed = choice.reads >= kTrialReads && choice.reads < 2 * kTrialReads;
  count(choice);
  return is_timed ? clock_() : 0;
}

void ReadChoice::end_call(std::size_t length_bytes, std::size_t bytes_moved, std::uint64_t begun_ns) {
  if (begun_ns == 0) return;
  Choice& choice = choice_for(length_bytes);
  choice.call.note(bytes_moved, clock_() - begun_ns);
}

}  // namespace exs::shm
