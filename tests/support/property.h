// Properties that RapidCheck tries on random values, and its values, without its headers, which take longer to compile than
// the test around them: only tests/support/property.cc includes them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace exs::test {

// Whether `property` holds in all runs; prints the values of one that it does not hold in, as small as they come.
bool holds(const std::string& name, const std::function<void()>& property);
// Ends the run of a property that does not hold. EXS_HOLD(condition) says which condition that was.
[[noreturn]] void fail_property(const std::string& what, const char* file, int line);
#define EXS_HOLD(...)                                                               \
  do {                                                                              \
    if (!(__VA_ARGS__)) exs::test::fail_property(#__VA_ARGS__, __FILE__, __LINE__); \
  } while (false)
// The same of what says in words what is wrong, and nothing if nothing is.
#define EXS_HOLD_EMPTY(...)                                                    \
  do {                                                                         \
    if (const std::string wrong = (__VA_ARGS__); !wrong.empty())               \
      exs::test::fail_property(#__VA_ARGS__ ": " + wrong, __FILE__, __LINE__); \
  } while (false)
// Told when the property fails.
void note_in_property(std::string_view text);

// A fixture: the properties run on the same values everywhere unless RC_PARAMS says otherwise, and quietly, for the engine
// logs a line for each protocol error.
struct PropertyDefaults {
  PropertyDefaults();
};

// --- values, drawn in a property ---
std::uint64_t draw_bits(unsigned count);  // any number of 8, 16, 32 or 64 bits
std::int64_t draw_between(std::int64_t from, std::int64_t end);
std::size_t draw_index(
    std::size_t count);  // each as likely in the first runs, which are of small values, as later
bool draw_bool();
std::vector<std::uint8_t> draw_bytes();
std::vector<int> draw_ints();
std::vector<int> draw_ints(int from, int end);

// From `from` to `end` - 1.
template <typename Integer>
Integer draw(Integer from, Integer end) {
  return static_cast<Integer>(draw_between(static_cast<std::int64_t>(from), static_cast<std::int64_t>(end)));
}
template <typename Integer>
Integer draw() {
  return static_cast<Integer>(draw_bits(8 * sizeof(Integer)));
}

// --- rows of numbers, whose whole ranges are drawn from in the first runs too ---
// Of rows that a property fails on RapidCheck leaves out what it can, and makes the numbers small.
struct Range {
  double weight = 1;  // how often it is taken, beside the other ranges of its column
  unsigned from = 0;
  unsigned end = 1;            // not in the range
  const char* name = nullptr;  // printed in place of the number
};
struct Column {
  const char* text;  // printed before the number
  std::vector<Range> ranges;
};
using Row = std::vector<unsigned>;  // a number for each column
Row draw_row(const std::vector<Column>& columns);
// At most `scale` times as many rows as RapidCheck's size, which grows to max_size.
std::vector<Row> draw_rows(const std::vector<Column>& columns, double scale);

}  // namespace exs::test
