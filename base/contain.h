// Contains a lack of memory.
//
// g++ 12 drops what an object of a class held before `object = call()` also where the call throws (-ftree-dse). So a step that gives
// such an object its value by a call that throws takes the value into a constant first. Numbers and enums are not concerned.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <new>
#include <utility>

#include "base/status.h"

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

// Returns what the step returns, or ENOMEM.
template <typename Step>
Status contained_status(Step&& step) noexcept {
  try {
    return std::forward<Step>(step)();
  } catch (const std::bad_alloc&) {
    return Status(ENOMEM);
  }
}

}  // namespace exs
