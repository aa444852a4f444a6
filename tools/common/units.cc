// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/units.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

#include "tools/common/failure.h"

namespace tools {
namespace {

std::string scaled(double value, const char* unit) {
  constexpr std::array<const char*, 5> kPrefixes{"", "k", "M", "G", "T"};
  std::size_t step = 0;
  while (value >= 999.5 && step + 1 < kPrefixes.size()) {
    value /= 1000;
    ++step;
  }
  return format("%.*f %s%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, kPrefixes[step], unit);
}

unsigned shift_of(std::string_view suffix) {
  constexpr std::array<std::pair<char, unsigned>, 3> kUnits{{{'K', 10}, {'M', 20}, {'G', 30}}};
  for (const auto& [letter, shift] : kUnits) {
    if (suffix.empty() || (suffix[0] & ~0x20) != letter) continue;
    const std::string_view rest = suffix.substr(1);
    if (rest.empty() || rest == "iB" || rest == "B") return shift;
  }
  if (suffix.empty() || suffix == "B") return 0;
  throw UsageError("unknown unit \"" + std::string(suffix) + "\": use K, M or G");
}

}  // namespace

std::string format(const char* pattern, ...) {
  std::array<char, 1024> out{};
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(out.data(), out.size(), pattern, arguments);
  va_end(arguments);
  return out.data();
}

std::uint64_t parse_size(const std::string& word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  const std::string number = word.substr(0, digits);
  if (number.empty() || number.size() > 18)
    throw UsageError("\"" + word + "\" is no size: use for instance 64K");
  const unsigned shift =
      shift_of(digits == std::string::npos ? std::string_view() : std::string_view(word).substr(digits));
  const std::uint64_t value = std::stoull(number);
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift))
    throw UsageError("\"" + word + "\" is too large");
  return value << shift;
}

std::vector<std::uint64_t> parse_sizes(const std::string& words, std::uint64_t most) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t comma = std::min(words.find(',', from), words.size());
    sizes.push_back(parse_size(words.substr(from, comma - from)));
    if (sizes.back() > most) throw UsageError("a size is at most " + format_size(most));
    from = comma + 1;
  }
  return sizes;
}

std::string format_size(std::uint64_t size_bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t step = 0;
  while (size_bytes >= 1024 && size_bytes % 1024 == 0 && step + 1 < kUnits.size()) {
    size_bytes /= 1024;
    ++step;
  }
  return std::to_string(size_bytes) + " " + kUnits[step];
}

std::string format_rate(double bytes_per_second) {
  return scaled(bytes_per_second, "B/s");
}

std::string format_count(double count) {
  std::string out = scaled(count, "");
  if (out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace tools
