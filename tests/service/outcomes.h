// Results of functions as a test compares them. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

#include "base/status.h"

namespace exs::svc::test {

// Moves what a function returns to its place. Returns 0 or the errno value.
template <typename Value, typename Place>
int take(Result<Value> result, Place& into) {
  if (!result) return result.error().error();
  into = std::move(*result);
  return 0;
}

}  // namespace exs::svc::test
