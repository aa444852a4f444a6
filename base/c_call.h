// The edge between C and C++: a function of a C interface runs its body by c_call(), which turns a Status into errno and a text.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <new>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/guarded_copy.h"
#include "base/refusal.h"
#include "base/status.h"

namespace exs {

// Sets errno, and remembers for the thread what `function` failed with. `function` is a string that lives for ever.
void call_failed(const char* function, Status why) noexcept;

// A sentence for an error that has none of its own; "": there is no such sentence.
using GeneralSentence = const char* (*)(std::string_view function, int error) noexcept;

// What the thread's last failed call says: "exs_bind: the port is taken". "": none has failed. errno stays. Valid until the next one fails.
const char* text_of_failed_call(GeneralSentence general) noexcept;

// Runs body() -> Result<T>, or Status for 0, and turns its error into errno, a text and `failed`. A lack of memory or threads is an error,
// and so is memory of the program that is not there. Any other exception is a bug and terminates the process. Thread: any.
template <typename T, typename Body>
T c_call(T failed, Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<Body>, Status>) {
      const Status status = std::forward<Body>(body)();
      if (status.ok()) return T{};
      call_failed(function, status);
    } else {
      const Result<T> result = std::forward<Body>(body)();
      if (result) return *result;
      call_failed(function, result.error());
    }
  } catch (const MemoryGone&) {
    call_failed(function,
                refuse(EFAULT, "the memory is not all there, or may not be used so: see address and length"));
  } catch (const std::bad_alloc&) {
    call_failed(function, Status(ENOMEM));
  } catch (const std::system_error& error) {  // of std::thread and locks
    call_failed(function, Status(error.code().value()));
  }
  return failed;
}

template <typename Body>
int c_call(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  return c_call<int>(-1, std::forward<Body>(body), function);
}

}  // namespace exs
