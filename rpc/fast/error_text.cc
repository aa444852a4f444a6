// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/error_text.h"

#include <array>
#include <cerrno>
#include <cstdio>

namespace exs::rpc {
namespace {

thread_local std::array<char, 1024> text;  // room for a sentence of exs_errtext() and its context
thread_local int last_error;

}  // namespace

int refuse(int error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  errno = last_error = error;
  return -1;
}

void restore_error() {
  errno = last_error;
}

const char* error_text() {
  return text.data();
}

}  // namespace exs::rpc
