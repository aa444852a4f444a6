// Contains a lack of memory.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <new>
#include <utility>

namespace exs {

// Does the step; where there is no memory for it, does the other, which needs none.
template <typename Step, typename Instead>
void contain(Step&& step, Instead&& instead) noexcept {
  try {
    std::forward<Step>(step)();
  } catch (const std::bad_alloc&) {
    std::forward<Instead>(instead)();
  }
}

}  // namespace exs
