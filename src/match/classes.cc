// SPDX-License-Identifier: BSD-2-Clause
#include "src/match/classes.h"

namespace exs::match {

std::uint32_t Classes::find(const Criteria& criteria) const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (classes_[i]->is_of(criteria)) return i;
  return kNone;
}

std::uint32_t Classes::find_or_add(const Criteria& criteria) noexcept {
  const std::uint32_t known = find(criteria);
  if (known != kNone) return known;
  if (count_ == kClassesMax) return kNone;
  classes_[count_].emplace(criteria.source == kAnySource, criteria.ignore, seed_);
  return static_cast<std::uint32_t>(count_++);
}

}  // namespace exs::match
