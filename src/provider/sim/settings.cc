// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/sim/settings.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace exs::sim {
namespace {

constexpr std::uint64_t kLongestNs = 3'600'000'000'000;  // an hour
constexpr std::string_view kTimes = "a time up to an hour, as 500ns, 20us, 3ms or 1s";
constexpr std::string_view kChances = "0 for never, N for step N alone, or 1/N for one step in N";

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> time_in(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t ns;
  };
  constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto count = number_in(text.substr(0, text.size() - unit.name.size()));
    if (count && *count <= kLongestNs / unit.ns) return *count * unit.ns;
  }
  if (text == "0") return 0;
  return std::nullopt;
}

bool read(std::string_view text, std::uint64_t& number) {
  const auto value = number_in(text);
  if (value) number = *value;
  return value.has_value();
}

bool read_time(std::string_view text, std::uint64_t& ns) {
  const auto value = time_in(text);
  if (value) ns = *value;
  return value.has_value();
}

bool read(std::string_view text, Chance& chance) {
  const bool is_odds = text.starts_with("1/");
  const auto value = number_in(is_odds ? text.substr(2) : text);
  if (!value || (is_odds && *value == 0)) return false;
  chance = {*value, is_odds};
  return true;
}

bool read_delay(std::string_view text, Settings& into) {
  const std::size_t dots = text.find("..");
  const bool is_range = dots != std::string_view::npos;
  return read_time(is_range ? text.substr(0, dots) : text, into.delay_min_ns) &&
         read_time(is_range ? text.substr(dots + 2) : text, into.delay_max_ns) &&
         into.delay_min_ns <= into.delay_max_ns;
}

bool read_word(std::string_view text, std::string_view yes, std::string_view no, bool& into) {
  into = text == yes;
  return text == yes || text == no;
}

struct Setting {
  std::string_view name;
  bool (*read)(std::string_view text, Settings& into);
  std::string_view legal;
};

constexpr Setting kSettings[] = {
    {"seed", [](std::string_view text, Settings& into) { return read(text, into.seed); }, "a number"},
    {"clock",
     [](std::string_view text, Settings& into) {
       return read_word(text, "virtual", "real", into.virtual_clock);
     },
     "virtual or real"},
    {"tick", [](std::string_view text, Settings& into) { return read_time(text, into.tick_ns); }, kTimes},
    {"delay", read_delay, "a time, or two of them as 1us..1ms, the lesser one first"},
    {"pause", [](std::string_view text, Settings& into) { return read_time(text, into.pause_ns); }, kTimes},
    {"down", [](std::string_view text, Settings& into) { return read_time(text, into.down_ns); }, kTimes},
    {"reorder",
     [](std::string_view text, Settings& into) { return read_word(text, "yes", "no", into.reorder); },
     "yes or no"},
    {"report",
     [](std::string_view text, Settings& into) { return read_word(text, "yes", "no", into.report); },
     "yes or no"},
    {"late", [](std::string_view text, Settings& into) { return read(text, into.late); }, kChances},
    {"lose", [](std::string_view text, Settings& into) { return read(text, into.lose); }, kChances},
    {"die", [](std::string_view text, Settings& into) { return read(text, into.die); }, kChances},
    {"slow", [](std::string_view text, Settings& into) { return read(text, into.slow); }, kChances},
    {"starve", [](std::string_view text, Settings& into) { return read(text, into.starve); }, kChances},
    {"pieces", [](std::string_view text, Settings& into) { return read(text, into.pieces); }, kChances},
    {"nomem", [](std::string_view text, Settings& into) { return read(text, into.nomem); }, kChances},
    {"interrupt", [](std::string_view text, Settings& into) { return read(text, into.interrupt); }, kChances},
};

std::string names_of_settings() {
  std::string names;
  for (const Setting& setting : kSettings) names += (names.empty() ? "" : ", ") + std::string(setting.name);
  return names;
}

std::string read_one(std::string_view word, Settings& into) {
  const std::size_t sign = word.find('=');
  const std::string_view name = word.substr(0, sign);
  const auto* const found = std::find_if(std::begin(kSettings), std::end(kSettings),
                                         [name](const Setting& setting) { return setting.name == name; });
  if (found == std::end(kSettings))
    return "\"" + std::string(word) + "\": the settings are " + names_of_settings();
  if (sign != std::string_view::npos && found->read(word.substr(sign + 1), into)) return {};
  return "\"" + std::string(word) + "\": give " + std::string(name) + "= " + std::string(found->legal);
}

}  // namespace

std::string read_settings(std::string_view text, Settings& into) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (std::string wrong = read_one(text.substr(0, comma), into); !wrong.empty()) return wrong;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return {};
}

}  // namespace exs::sim
