// The boundary between C and C++: every exported function goes through api_call().
#pragma once

#include <cerrno>
#include <new>
#include <utility>

#include "src/api/library.h"

namespace exs {

// Runs body(library) -> Result<T> and turns its error into errno and `failed`. Any exception but bad_alloc is
// a bug of the library and terminates the process.
template <typename T, typename Body>
T api_call(T failed, Body&& body) noexcept {
  Library* library = Library::current();
  if (library == nullptr) {
    errno = EPERM;
    return failed;
  }
  try {
    const Result<T> result = std::forward<Body>(body)(*library);
    if (result) return *result;
    errno = result.error().error();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  return failed;
}

template <typename Body>
int api_call(Body&& body) noexcept {
  return api_call<int>(-1, std::forward<Body>(body));
}

inline Result<int> api_result(Status status) {
  if (!status.ok()) return failure(status);
  return 0;
}

}  // namespace exs
