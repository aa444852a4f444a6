// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/property.h"

#include <rapidcheck.h>

#include <cstdlib>
#include <ostream>
#include <utility>

namespace exs::test {

namespace {

// A number, its shrink target, and the text printed with it or in its place.
struct Cell {
  unsigned number, least;
  const char *text, *name;
};
struct DrawnRow {
  std::vector<Cell> cells;
};

std::ostream& operator<<(std::ostream& out, const DrawnRow& row) {
  for (const Cell& cell : row.cells) {
    out << cell.text;
    cell.name == nullptr ? out << cell.number : out << cell.name;
  }
  return out;
}

const Range& choose_range(const std::vector<Range>& ranges, std::uint64_t random) {
  double sum = 0;
  for (const Range& range : ranges) sum += range.weight;
  double left = sum * static_cast<double>(random >> 11) * 0x1p-53;
  for (const Range& range : ranges) {
    if ((left -= range.weight) < 0) return range;
  }
  return ranges.back();  // after a rounding error
}

rc::Seq<Cell> shrink_cell(const Cell& cell) {
  return rc::seq::map(rc::shrink::towards(cell.number, cell.least), [cell](unsigned number) {
    return Cell{number, cell.least, cell.text, cell.name};
  });
}

rc::Seq<DrawnRow> shrink_row(const DrawnRow& row) {
  return rc::seq::map(rc::shrink::eachElement(row.cells, shrink_cell),
                      [](std::vector<Cell>&& cells) { return DrawnRow{std::move(cells)}; });
}

rc::Gen<DrawnRow> generate_rows(const std::vector<Column>& columns) {
  return [columns](rc::Random random, int /*size*/) {
    DrawnRow row;
    for (const Column& column : columns) {
      const Range& range = choose_range(column.ranges, random.next());
      const auto number = static_cast<unsigned>(range.from + random.next() % (range.end - range.from));
      row.cells.push_back({number, range.from, column.text, range.name});
    }
    return rc::shrinkable::shrinkRecur(std::move(row), shrink_row);
  };
}

Row numbers_of(const DrawnRow& row) {
  Row numbers;
  for (const Cell& cell : row.cells) numbers.push_back(cell.number);
  return numbers;
}

}  // namespace

PropertyDefaults::PropertyDefaults() {
  setenv("RC_PARAMS", "seed=20250131 max_success=3000 max_size=100", 0);
  setenv("EXS_LOG", "off", 0);
}

bool holds(const std::string& name, const std::function<void()>& property) {
  return rc::check(name, [&] { property(); });
}

void fail_property(const std::string& what, const char* file, int line) {
  throw rc::detail::CaseResult(rc::detail::CaseResult::Type::Failure,
                               std::string(file) + ":" + std::to_string(line) + ": " + what);
}

void note_in_property(std::string_view text) {
  RC_LOG() << text << std::endl;
}

std::uint64_t draw_bits(unsigned count) {
  switch (count) {
    case 8: return *rc::gen::arbitrary<std::uint8_t>();
    case 16: return *rc::gen::arbitrary<std::uint16_t>();
    case 32: return *rc::gen::arbitrary<std::uint32_t>();
    default: return *rc::gen::arbitrary<std::uint64_t>();
  }
}

std::int64_t draw_between(std::int64_t from, std::int64_t end) {
  return *rc::gen::inRange(from, end);
}

std::size_t draw_index(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return *rc::gen::elementOf(all);
}

bool draw_bool() {
  return *rc::gen::arbitrary<bool>();
}

std::vector<std::uint8_t> draw_bytes() {
  return *rc::gen::arbitrary<std::vector<std::uint8_t>>();
}

std::vector<int> draw_ints() {
  return *rc::gen::arbitrary<std::vector<int>>();
}

std::vector<int> draw_ints(int from, int end) {
  return *rc::gen::container<std::vector<int>>(rc::gen::inRange(from, end));
}

Row draw_row(const std::vector<Column>& columns) {
  return numbers_of(*generate_rows(columns));
}

std::vector<Row> draw_rows(const std::vector<Column>& columns, double scale) {
  std::vector<Row> rows;
  for (const DrawnRow& row :
       *rc::gen::scale(scale, rc::gen::container<std::vector<DrawnRow>>(generate_rows(columns))))
    rows.push_back(numbers_of(row));
  return rows;
}

}  // namespace exs::test
