// The messages between client and service.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/service.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "perf/service_check/shared.h"
#include "tools/common/failure.h"

namespace service_check {

struct Ask {
  std::uint32_t kind;
  Number number;
};
struct Answer {
  Number number;
  std::uint32_t life;
};

[[noreturn]] inline void fail(const char* what) {
  throw tools::Failure(std::string(what) + ": " + exs_svc_errtext());
}

template <typename T>
T read_item(const exs_svc_message_t& message) {
  T value{};
  if (message.items_count != 1 || message.items[0].length != sizeof value)
    throw tools::Failure("a message of another size");
  std::memcpy(&value, message.items[0].data, sizeof value);
  return value;
}

// The bytes of a long item, all equal.
inline constexpr std::size_t kLongBytes = 20'000;
inline char pattern_of(Number number) {
  return static_cast<char>(number % 251);
}
inline bool is_pattern(const exs_svc_message_t& message, Number number) {
  if (message.longs_count != 1 || message.longs[0].length != kLongBytes) return false;
  const char* const bytes = static_cast<const char*>(message.longs[0].data);
  return std::all_of(bytes, bytes + kLongBytes, [number](char byte) { return byte == pattern_of(number); });
}

}  // namespace service_check
