// The entries of one class by what they have in common: source and bits without those that the class ignores. Those of one key are in the
// order in which they came, so the first is the oldest.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/match/list.h"

namespace exs::match {

struct Key {
  std::uint32_t source = 0;  // kAnySource in a class of any source
  std::uint64_t bits = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

// Open addressing with linear probing, at most half full. `seed`: so that no peer can choose bits that all lie in one place.
class KeyTable {
 public:
  explicit KeyTable(std::uint64_t seed) noexcept : seed_(seed) {}

  // Room for so many keys more. Throws std::bad_alloc, and nothing has changed.
  void reserve(std::size_t more);
  // The place of the key's entries, if there are any. Valid until the next change.
  [[nodiscard]] std::size_t find(const Key& key) const noexcept;
  // Works for an empty table, too. kNone: the key has no entries.
  [[nodiscard]] std::uint32_t first(const Key& key) const noexcept {
    return keys_ == 0 ? kNone : first_at(find(key));
  }
  [[nodiscard]] std::uint32_t first_at(std::size_t place) const noexcept {
    return places_[place].entries.first;
  }
  // Call reserve() first.
  void append(const Key& key, Links& links, std::uint32_t entry) noexcept;
  void remove(const Key& key, Links& links, std::uint32_t entry) noexcept {
    remove_at(find(key), links, entry);
  }
  void remove_at(std::size_t place, Links& links, std::uint32_t entry) noexcept;
  void clear() noexcept;

 private:
  struct KeyPlace {
    Key key;
    List entries;  // empty: the place is free
  };

  [[nodiscard]] std::size_t hash(const Key& key) const noexcept;
  void free(std::size_t place) noexcept;

  const std::uint64_t seed_;
  std::vector<KeyPlace> places_;  // a power of two, or none
  std::size_t keys_ = 0;
};

}  // namespace exs::match
