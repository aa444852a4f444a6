// RapidCheck's properties and random values without its headers, which compile more slowly than a whole test.
// Only tests/support/property.cc includes them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace exs::test {

// True: `property` held in all runs. Prints the smallest values found for which it fails.
bool holds(const std::string& name, const std::function<void()>& property);
// Ends the run of a property that does not hold. EXS_HOLD(condition) reports that condition.
[[noreturn]] void fail_property(const std::string& what, const char* file, int line);
#define EXS_HOLD(...)                                                               \
  do {                                                                              \
    if (!(__VA_ARGS__)) exs::test::fail_property(#__VA_ARGS__, __FILE__, __LINE__); \
  } while (false)
// Fails with the text that the expression returns, unless that is empty.
#define EXS_HOLD_EMPTY(...)                                                    \
  do {                                                                         \
    if (const std::string wrong = (__VA_ARGS__); !wrong.empty())               \
      exs::test::fail_property(#__VA_ARGS__ ": " + wrong, __FILE__, __LINE__); \
  } while (false)
// Printed when the property fails.
void note_in_property(std::string_view text);

// A fixture. Properties run on the same values everywhere, unless RC_PARAMS is set. They run quietly, because
// the engine logs a line for each protocol error.
struct PropertyDefaults {
  PropertyDefaults();
};

// --- values, drawn in a property ---
std::uint64_t draw_bits(unsigned count);  // any number of 8, 16, 32 or 64 bits
std::int64_t draw_between(std::int64_t from, std::int64_t end);
// All are equally likely in every run, although early runs use small values.
std::size_t draw_index(std::size_t count);
bool draw_bool();
std::vector<std::uint8_t> draw_bytes();
std::vector<int> draw_ints();
std::vector<int> draw_ints(int from, int end);

// Draws from `from` to `end` - 1.
template <typename Integer>
Integer draw(Integer from, Integer end) {
  return static_cast<Integer>(draw_between(static_cast<std::int64_t>(from), static_cast<std::int64_t>(end)));
}
template <typename Integer>
Integer draw() {
  return static_cast<Integer>(draw_bits(8 * sizeof(Integer)));
}

// --- rows of numbers from whole ranges, also in early runs ---
// If a property fails on rows, RapidCheck drops rows and shrinks numbers.
struct Range {
  double weight = 1;  // its share among the ranges of the column
  unsigned from = 0;
  unsigned end = 1;            // exclusive
  const char* name = nullptr;  // printed in place of the number
};
struct Column {
  const char* text;  // printed before the number
  std::vector<Range> ranges;
};
using Row = std::vector<unsigned>;  // a number for each column
Row draw_row(const std::vector<Column>& columns);
// At most `scale` times RapidCheck's size in rows; that size grows to max_size.
std::vector<Row> draw_rows(const std::vector<Column>& columns, double scale);

}  // namespace exs::test
