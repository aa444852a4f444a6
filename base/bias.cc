// SPDX-License-Identifier: BSD-2-Clause
#include "base/bias.h"

#include <algorithm>
#include <bit>

#include "base/backoff.h"

namespace exs {

bool Bias::withdraw() noexcept {
  const bool was_granted = owner_.exchange(nullptr, std::memory_order_seq_cst) != nullptr;
  ProcessBarrier::execute();
  if (place_ == nullptr) return true;
  const std::uint32_t turns = place_->load(std::memory_order_acquire);
  if (was_granted) {
    const bool has_paid = (turns - granted_at_) / 2 >= kWorthwhileTurns;
    needed_ = has_paid ? std::max(needed_ / 2, kFewestTurns) : std::min(needed_ * 2, kMostTurns);
  }
  if (is_inside(turns)) return false;
  free_place();
  return true;
}

void Bias::await_leaving() noexcept {
  for (Backoff backoff; is_inside(place_->load(std::memory_order_acquire)); backoff.wait()) continue;
  free_place();
}

bool Bias::grant() noexcept {
  in_a_row_ = 0;
  if (!ProcessBarrier::is_available()) return false;
  ThreadRecord* const mine = ThreadRecord::mine();
  if (mine == nullptr) return false;
  // Only its own thread gives places of a record away; others give them back.
  const std::uint32_t given = mine->given.load(std::memory_order_acquire);
  const auto index = static_cast<std::uint32_t>(std::countr_one(given));
  if (index >= ThreadRecord::kPlaces) return false;
  mine->given.fetch_or(1U << index, std::memory_order_relaxed);
  placed_ = mine;
  place_ = &mine->inside[index];
  granted_at_ = place_->load(std::memory_order_relaxed);
  owner_.store(place_, std::memory_order_relaxed);
  return true;
}

void Bias::free_place() noexcept {
  if (place_ == nullptr) return;
  const auto index = static_cast<std::uint32_t>(place_ - placed_->inside.data());
  place_ = nullptr;
  placed_->given.fetch_and(~(1U << index), std::memory_order_release);
}

}  // namespace exs
