// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/step.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "tests/sockets/twin/model.h"

namespace twin {
namespace {

struct KindEntry {
  std::string_view name;
  std::uint32_t weight;
};

constexpr std::array<KindEntry, static_cast<std::size_t>(Kind::count)> kKinds = {{
    {"connect", 30},      {"accept", 80},       {"warm-up", 25},    {"send", 260},      {"more", 10},
    {"recv", 300},        {"peek", 40},         {"transfer", 6},    {"fill", 1},        {"poll", 90},
    {"close", 24},        {"shutdown", 8},      {"linger", 4},      {"nonblock", 16},   {"inquire", 30},
    {"option", 20},       {"cork", 4},          {"names", 6},       {"bad", 12},        {"blocked", 24},
    {"timeout", 2},       {"dup", 22},          {"fork", 6},        {"spawn", 2},       {"exec", 3},
    {"pass", 6},          {"leave", 1},         {"kill", 1},        {"urgent-send", 3}, {"urgent-recv", 4},
    {"urgent-inline", 1}, {"epoll-create", 10}, {"epoll-ctl", 60},  {"epoll-wait", 70}, {"sendfile", 10},
    {"splice-in", 6},     {"splice-out", 8},    {"stdio-write", 6}, {"stdio-read", 6},
}};

constexpr std::array<std::string_view, kProcesses> kProcessNames = {"A", "A2", "B", "B2"};

template <typename Number>
bool read_number(std::istringstream& words, Number& number) {
  std::string word;
  if (!std::getline(words, word, '.') || word.empty() ||
      word.find_first_not_of("0123456789") != std::string::npos)
    return false;
  number = static_cast<Number>(std::stoul(word));
  return true;
}

bool read_step(const std::string& text, Step& step) {
  std::istringstream words(text);
  std::string kind;
  std::string process;
  if (!std::getline(words, kind, '.') || !std::getline(words, process, '.')) return false;
  const std::optional<Kind> found = kind_of(kind);
  const auto* const who = std::find(kProcessNames.begin(), kProcessNames.end(), process);
  if (!found || who == kProcessNames.end()) return false;
  step.kind = *found;
  step.process = static_cast<std::uint8_t>(who - kProcessNames.begin());
  return read_number(words, step.connection) && step.connection < kConnections &&
         read_number(words, step.a) && read_number(words, step.b) && read_number(words, step.c);
}

}  // namespace

std::string_view name_of(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)].name;
}

std::optional<Kind> kind_of(std::string_view name) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i].name == name) return static_cast<Kind>(i);
  return std::nullopt;
}

Weights default_weights() {
  Weights weights;
  std::transform(kKinds.begin(), kKinds.end(), weights.begin(),
                 [](const KindEntry& entry) { return entry.weight; });
  return weights;
}

Step random_step(std::mt19937_64& random, const Weights& weights) {
  const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::uint64_t at = random() % std::max<std::uint64_t>(total, 1);
  std::size_t kind = 0;
  while (kind + 1 < weights.size() && at >= weights[kind]) at -= weights[kind++];
  Step step;
  step.kind = static_cast<Kind>(kind);
  step.process = static_cast<std::uint8_t>(random() % kProcesses);
  // Low numbers are likelier, so that the first connections get far.
  step.connection = static_cast<std::uint8_t>(std::min(random() % kConnections, random() % kConnections));
  step.a = static_cast<std::uint32_t>(random());
  step.b = static_cast<std::uint32_t>(random());
  step.c = static_cast<std::uint32_t>(random());
  return step;
}

std::string text_of(const Script& script) {
  std::ostringstream text;
  for (const Step& step : script) {
    if (text.tellp() > 0) text << ' ';
    text << name_of(step.kind) << '.' << kProcessNames[step.process] << '.' << unsigned{step.connection}
         << '.' << step.a << '.' << step.b << '.' << step.c;
  }
  return text.str();
}

std::optional<Script> script_of(const std::string& text) {
  Script script;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    Step step;
    if (!read_step(word, step)) return std::nullopt;
    script.push_back(step);
  }
  return script;
}

}  // namespace twin
