// Room for what must not need memory when it comes.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace exs {

// The vector will take so many elements without memory. Grows by doubling, as push_back() does.
template <typename T>
void make_room(std::vector<T>& vector, std::size_t elements) {
  if (vector.capacity() < elements) vector.reserve(std::max(elements, 2 * vector.capacity()));
}

}  // namespace exs
