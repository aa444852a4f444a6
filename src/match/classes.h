// The classes of posted receives, by any-source and by ignored bits. Within one class a look-up uses a key,
// so it takes the same time for any number of entries.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/match/criteria.h"
#include "src/match/key_table.h"

namespace exs::match {

// MPI and Java need four; users of libfabric add few. Receives of further ones are looked through.
inline constexpr std::size_t kClassesMax = 8;

// To pass so few entries is faster than any table.
inline constexpr std::size_t kLookedThrough = 16;

struct Class {
  explicit Class(bool takes_any_source, std::uint64_t ignored, std::uint64_t seed) noexcept
      : any_source(takes_any_source), ignore(ignored), table(seed) {}

  [[nodiscard]] bool is_of(const Criteria& criteria) const noexcept {
    return any_source == (criteria.source == kAnySource) && ignore == criteria.ignore;
  }
  [[nodiscard]] Key key_of(std::uint32_t source, std::uint64_t bits) const noexcept {
    return {any_source ? kAnySource : source, bits & ~ignore};
  }

  const bool any_source;
  const std::uint64_t ignore;
  KeyTable table;
  std::size_t entries = 0;  // in the table
};

class Classes {
 public:
  explicit Classes(std::uint64_t seed) noexcept : seed_(seed) {}

  // kNone: there is no such entry.
  [[nodiscard]] std::uint32_t find(const Criteria& criteria) const noexcept;
  // kNone: nor a place for one more.
  std::uint32_t find_or_add(const Criteria& criteria) noexcept;
  void drop_last() noexcept { classes_[--count_].reset(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] Class& operator[](std::size_t index) noexcept { return *classes_[index]; }
  [[nodiscard]] const Class& operator[](std::size_t index) const noexcept { return *classes_[index]; }

 private:
  const std::uint64_t seed_;
  std::array<std::optional<Class>, kClassesMax> classes_;
  std::size_t count_ = 0;
};

}  // namespace exs::match
