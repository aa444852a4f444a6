// Lists of numbered entries. The links of all entries for one kind of list lie in one vector, so an entry may be in a list of each kind.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace exs::match {

inline constexpr std::uint32_t kNone = UINT32_MAX;

struct ListLink {
  std::uint32_t previous = kNone;
  std::uint32_t next = kNone;
};
using Links = std::vector<ListLink>;

struct List {
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;

  [[nodiscard]] bool empty() const noexcept { return first == kNone; }
  void append(Links& links, std::uint32_t entry) noexcept {
    links[entry] = {last, kNone};
    (last == kNone ? first : links[last].next) = entry;
    last = entry;
  }
  void remove(Links& links, std::uint32_t entry) noexcept {
    const ListLink link = links[entry];
    (link.previous == kNone ? first : links[link.previous].next) = link.next;
    (link.next == kNone ? last : links[link.next].previous) = link.previous;
  }
};

}  // namespace exs::match
