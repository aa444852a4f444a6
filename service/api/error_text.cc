// SPDX-License-Identifier: BSD-2-Clause
#include "service/api/error_text.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace exs::svc {
namespace {

thread_local std::array<char, 512> last_text;
thread_local int last_error;

}  // namespace

int refuse(int error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_text.data(), last_text.size(), format, arguments);
  va_end(arguments);
  errno = last_error = error;
  return -1;
}

void restore_error() {
  errno = last_error;
}

const char* error_text() {
  return last_text.data();
}

}  // namespace exs::svc
