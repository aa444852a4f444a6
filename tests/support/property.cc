#include "tests/support/property.h"

#include <rapidcheck.h>

namespace exs::test {

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

}  // namespace exs::test
