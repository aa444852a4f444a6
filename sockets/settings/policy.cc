// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/settings/policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace exs::sockets {
namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kBitsV4 = 32;
constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// The whole of `text` must be one number.
bool parse_number(std::string_view text, unsigned low, unsigned high, unsigned& value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
}

// Removes and returns what precedes the first of `ends`.
std::string_view take_until(std::string_view& text, const char* ends) noexcept {
  const std::size_t end = text.find_first_of(ends);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(part.size());
  return part;
}

std::string_view take_token(std::string_view& line) noexcept {
  constexpr const char* kBlanks = " \t\r";
  while (!line.empty() && std::strchr(kBlanks, line.front()) != nullptr && line.front() != '\0')
    line.remove_prefix(1);
  const std::string_view token = take_until(line, kBlanks);
  if (!token.empty() && token.front() == '#') return line = {};
  return token;
}

bool is_v4(const RuleAddress& address) noexcept {
  return std::memcmp(address.bytes, kMapped, sizeof kMapped) == 0;
}

bool parse_address(std::string_view text, bool v6_alone, Pattern& pattern) noexcept {
  char copy[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof copy || text.find('\0') != std::string_view::npos) return false;
  std::memcpy(copy, text.data(), text.size());
  if (inet_pton(AF_INET6, copy, pattern.address.bytes) == 1) {
    pattern.is_v4 = is_v4(pattern.address);
    return true;
  }
  std::memcpy(pattern.address.bytes, kMapped, sizeof kMapped);
  pattern.is_v4 = true;
  return !v6_alone && inet_pton(AF_INET, copy, pattern.address.bytes + sizeof kMapped) == 1;
}

// Parses "/PREFIX" of an address in IPv4 form (`short_form`) or IPv6 form. The default is the whole address.
bool take_prefix(std::string_view& text, bool short_form, Pattern& pattern) noexcept {
  pattern.prefix_bits = kBits;
  if (text.empty() || text.front() != '/') return true;
  text.remove_prefix(1);
  const unsigned length = short_form ? kBitsV4 : kBits;
  unsigned bits = 0;
  if (!parse_number(take_until(text, ":"), 0, length, bits)) return false;
  pattern.prefix_bits = static_cast<std::uint8_t>(kBits - length + bits);
  // A prefix this short does not tell IPv4 from IPv6, so it means IPv6.
  pattern.is_v4 = pattern.is_v4 && pattern.prefix_bits >= kBits - kBitsV4;
  return true;
}

bool take_port(std::string_view text, Pattern& pattern) noexcept {
  constexpr unsigned kPortMax = 65535;
  if (text.empty()) return true;
  unsigned port = 0;
  if (text.front() != ':' || !parse_number({text.data() + 1, text.size() - 1}, 1, kPortMax, port))
    return false;
  pattern.port = static_cast<std::uint16_t>(port);
  return true;
}

bool parse_side(std::string_view text, Side& side) noexcept {
  side = text == "listen" ? Side::kListen : text == "connect" ? Side::kConnect : Side::kAny;
  return side != Side::kAny || text == "*";
}

bool same_bits(const RuleAddress& a, const RuleAddress& b, unsigned bits) noexcept {
  constexpr unsigned kBitsOfByte = 8;
  if (std::memcmp(a.bytes, b.bytes, bits / kBitsOfByte) != 0) return false;
  const unsigned more = bits % kBitsOfByte;
  if (more == 0) return true;
  const unsigned difference = a.bytes[bits / kBitsOfByte] ^ b.bytes[bits / kBitsOfByte];
  return difference >> (kBitsOfByte - more) == 0;
}

bool is_about(const Rule& rule, Side side, std::uint16_t port) noexcept {
  return (rule.side == Side::kAny || rule.side == side) &&
         (rule.pattern.port == 0 || rule.pattern.port == port);
}
bool is_about(const Pattern& pattern, const RuleAddress& peer) noexcept {
  return pattern.any_address ||
         (pattern.is_v4 == is_v4(peer) && same_bits(pattern.address, peer, pattern.prefix_bits));
}
bool is_about_all(const Rule& rule) noexcept {
  return rule.side == Side::kAny && rule.pattern.any_address && rule.pattern.port == 0;
}

bool is_about(std::string_view glob, const ProgramNames& program) noexcept {
  return matches_glob(glob, program.started_as) || matches_glob(glob, program.file);
}

// Words are separated by blanks. One word may be a list with commas, as in EXS_SOCKETS; so may the value of
// "users=".
bool take_rule_words(std::string_view line, SocketsSettings& settings, BadLines::Line& bad) noexcept {
  constexpr std::string_view kUsers = "users=";
  std::string_view word = take_token(line);
  bad.cause = "no words, of which \"on\" and \"off\" are the shortest";
  if (word.empty()) return false;
  bad.cause = "means nothing";
  for (; !word.empty(); word = take_token(line)) {
    if (word.starts_with(kUsers)) {
      bad.word = word;
      word.remove_prefix(kUsers.size());
      if (word.empty()) return false;
      std::string_view complaint;
      take_users(word, settings.users, complaint);
      if (!complaint.empty()) return false;
      bad.word = {};
    } else {
      take_words(word, settings, bad.word);
      if (!bad.word.empty()) return false;
    }
  }
  return true;
}

// Parses what follows the program's name.
bool parse_rule(std::string_view line, Rule& rule, BadLines::Line& bad) noexcept {
  bad.word = take_token(line);
  bad.cause = "the side is \"listen\", \"connect\" or \"*\"";
  if (!parse_side(bad.word, rule.side)) return false;
  bad.word = take_token(line);
  bad.cause = "is no peer: *, *:PORT or ADDRESS/PREFIX:PORT";
  if (!parse_pattern(bad.word, rule.pattern)) return false;
  bad.word = {};
  return take_rule_words(line, rule.settings, bad);
}

void note(BadLines& bad, const BadLines::Line& line) noexcept {
  if (bad.count < BadLines::kLinesMax) {
    bad.lines[bad.count++] = line;
  } else {
    ++bad.left_out;
  }
}

SocketsSettings over(const SocketsSettings& of_file, const Environment& environment) noexcept {
  SocketsSettings settings = of_file;
  std::string_view ignored;  // already reported when the environment was read
  take_words(environment.words, settings, ignored);
  take_users(environment.users, settings.users, ignored);
  return settings;
}

}  // namespace

bool matches_glob(std::string_view glob, std::string_view name) noexcept {
  std::size_t at = 0;
  std::size_t in_name = 0;
  std::size_t star = std::string_view::npos;  // the last star seen, and how far it reaches
  std::size_t reach = 0;
  while (in_name < name.size()) {
    if (at < glob.size() && glob[at] == '*') {
      star = at++;
      reach = in_name;
    } else if (at < glob.size() && (glob[at] == '?' || glob[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++reach;
    } else {
      return false;
    }
  }
  while (at < glob.size() && glob[at] == '*') ++at;
  return at == glob.size();
}

bool parse_pattern(std::string_view text, Pattern& pattern) noexcept {
  pattern = {};
  if (text.empty()) return false;
  if (text.front() == '*') {
    text.remove_prefix(1);
    return take_port(text, pattern);
  }
  pattern.any_address = false;
  const bool in_brackets = text.front() == '[';
  const bool is_long = in_brackets || text.find(':') != text.rfind(':');
  if (in_brackets) text.remove_prefix(1);
  const std::string_view address = take_until(text, in_brackets ? "]" : is_long ? "/" : "/:");
  if (in_brackets && text.empty()) return false;
  if (in_brackets) text.remove_prefix(1);
  if (!parse_address(address, is_long, pattern) || !take_prefix(text, !is_long, pattern)) return false;
  return is_long && !in_brackets ? text.empty() : take_port(text, pattern);
}

std::string_view name_of_path(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

std::uint32_t Policy::find(const RuledConnection& connection) const noexcept {
  std::uint32_t rule = 0;
  while (rule < count && !(is_about(rules[rule], connection.side, connection.port) &&
                           is_about(rules[rule].pattern, connection.peer)))
    ++rule;
  return rule;
}

bool Policy::may_accept(std::uint16_t port) const noexcept {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!is_about(rules[i], Side::kListen, port)) continue;
    if (rules[i].settings.on) return true;
    if (rules[i].pattern.any_address) return false;
  }
  return rest.on;
}

bool Policy::is_on() const noexcept {
  for (std::uint32_t i = 0; i < count; ++i)
    if (rules[i].settings.on) return true;
  return rest.on;
}

void parse_policy(std::string_view text, const ProgramNames& program, const Environment& environment,
                  Policy& policy, BadLines& bad) noexcept {
  policy.count = 0;
  policy.rest_line = 0;
  policy.rest = over({}, environment);
  bad.count = bad.left_out = 0;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_until(text, "\n");
    if (!text.empty()) text.remove_prefix(1);
    const std::string_view glob = take_token(line);
    if (glob.empty() || !is_about(glob, program)) continue;
    Rule rule;
    rule.line = number;
    BadLines::Line wrong;
    wrong.number = number;
    if (!parse_rule(line, rule, wrong)) {
      note(bad, wrong);
    } else if (policy.rest_line != 0) {
      // An earlier line fits all connections, so this one never applies.
    } else if (is_about_all(rule)) {
      policy.rest = over(rule.settings, environment);
      policy.rest_line = number;
    } else if (policy.count == Policy::kRulesMax) {
      wrong.cause = "is one line too many about the program";
      note(bad, wrong);
    } else {
      rule.settings = over(rule.settings, environment);
      policy.rules[policy.count++] = rule;
    }
  }
}

}  // namespace exs::sockets
