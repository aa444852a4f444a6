// The boundary between C and C++: every exported function goes through api_call().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <new>
#include <type_traits>
#include <utility>

#include "src/api/error_text.h"
#include "src/api/library.h"
#include "src/api/refusals.h"
#include "src/base/guarded_copy.h"
#include "src/base/refusal.h"

namespace exs {

// Runs body(library) -> Result<T>, or Status for 0, and turns its error into errno, the thread's exs_errtext() and `failed`.
// Any exception but bad_alloc is a bug of the library and terminates the process.
template <typename T, typename Body>
T api_call(T failed, Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  Library* library = Library::current();
  if (library == nullptr) {
    call_failed(function, not_initialized());
    return failed;
  }
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<Body, Library&>, Status>) {
      const Status status = std::forward<Body>(body)(*library);
      if (status.ok()) return T{};
      call_failed(function, status);
    } else {
      const Result<T> result = std::forward<Body>(body)(*library);
      if (result) return *result;
      call_failed(function, result.error());
    }
  } catch (const MemoryGone&) {
    call_failed(function,
                refuse(EFAULT, "the memory is not all there, or may not be used so: see address and length"));
  } catch (const std::bad_alloc&) {
    call_failed(function, Status(ENOMEM));
  }
  return failed;
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
