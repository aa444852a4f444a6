// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/counting_kernel.h"

#include <optional>
#include <string_view>
#include <utility>

namespace exs::test {
namespace {

using Counts = std::map<std::string, std::uint64_t>;
thread_local std::optional<Counts> counts;

template <typename Call>
auto call_and_count(const char* name, Call call) {
  // A clock is read without the kernel.
  if (counts && std::string_view(name) != "clock_gettime") ++(*counts)[name];
  return call();
}

}  // namespace

void count_kernel_calls() {
  counts.emplace();
}

Counts counted_kernel_calls() {
  return std::exchange(counts, std::nullopt).value_or(Counts());
}

}  // namespace exs::test

// NOLINTNEXTLINE(bugprone-macro-parentheses): arguments, as they are
#define EXS_KERNEL_CALL(name, ...) exs::test::call_and_count(__func__, [&] { return ::name(__VA_ARGS__); })
#include "base/kernel.cc"  // NOLINT(bugprone-suspicious-include)
