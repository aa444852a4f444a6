// The source of a link's steering tags: numbers that cannot be predicted without the link's key.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"

namespace exs {

using TagKey = std::array<std::uint64_t, 2>;

// EIO: the kernel has no random numbers for us.
Result<TagKey> draw_tag_key();

// SipHash-2-4 of numbers: a peer that has seen any of its values learns nothing of the others. Values that a peer
// sees must never be taken from the key itself.
// Thread: immutable after construction.
class TagSource {
 public:
  explicit TagSource(const TagKey& key) noexcept : key_(key) {}

  [[nodiscard]] std::uint64_t at(std::uint64_t number) const noexcept;

 private:
  TagKey key_;
};

}  // namespace exs
