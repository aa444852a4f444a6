// The boundary between C and C++: every exported function goes through api_call().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <type_traits>
#include <utility>

#include "base/c_call.h"
#include "src/api/error_text.h"
#include "src/api/library.h"
#include "src/api/refusals.h"

namespace exs {

// Runs body(library) -> Result<T>, or Status for 0, as c_call() does.
template <typename T, typename Body>
T api_call(T failed, Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  using Outcome = std::invoke_result_t<Body, Library&>;
  const auto of_library = [&]() -> Outcome {
    Library* const library = Library::current();
    if (library == nullptr) {
      if constexpr (std::is_same_v<Outcome, Status>)
        return not_initialized();
      else
        return failure(not_initialized());
    }
    Outcome outcome = std::forward<Body>(body)(*library);
    if constexpr (std::is_same_v<Outcome, Status>) {
      if (!outcome.ok()) return with_kept_text(outcome);
    } else {
      if (!outcome) return failure(with_kept_text(outcome.error()));
    }
    return outcome;
  };
  return c_call<T>(failed, of_library, function);
}

template <typename Body>
int api_call(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  return api_call<int>(-1, std::forward<Body>(body), function);
}

inline Result<int> api_result(Status status) {
  if (!status.ok()) return failure(status);
  return 0;
}

}  // namespace exs
