// Rules of sockets.conf: which connections of which programs take shared memory, and how. Code inside foreign
// programs uses them: no allocation, no exceptions. The bytes of the file may be anything.
//
//   program  side  peer-or-port  words
//
// The first line that fits the program and the connection counts. A line that fits all connections of the
// program ends the list.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "sockets/settings/settings.h"

namespace exs::sockets {

// The names by which rules know a program, without folders. A symbolic link gives the program another name
// than its file.
struct ProgramNames {
  std::string_view started_as;
  std::string_view file;
};

enum class Side : std::uint8_t { kAny, kListen, kConnect };

// IPv4 addresses are mapped (::ffff:127.0.0.1), as IPv6 sockets show them.
struct RuleAddress {
  std::uint8_t bytes[16] = {};
};

// A connection as rules see it: its peer, and the port of the listening end.
struct RuledConnection {
  Side side = Side::kAny;
  RuleAddress peer;
  std::uint16_t port = 0;
};

// The third column of a line.
struct Pattern {
  bool any_address = true;
  bool is_v4 = false;
  std::uint8_t prefix_bits = 0;  // of 128
  RuleAddress address;
  std::uint16_t port = 0;  // 0: any
};

struct Rule {
  Side side = Side::kAny;
  Pattern pattern;
  std::uint32_t line = 0;
  SocketsSettings settings;
};

// Thread: immutable value.
struct Policy {
  static constexpr std::uint32_t kRulesMax = 32;

  SocketsSettings rest;  // for connections that no rule fits
  std::uint32_t rest_line = 0;
  std::uint32_t count = 0;
  Rule rules[kRulesMax];

  // The index of the first rule that fits; `count`: no rule fits.
  [[nodiscard]] std::uint32_t find(const RuledConnection& connection) const noexcept;
  [[nodiscard]] const SocketsSettings& settings_at(std::uint32_t rule) const noexcept {
    return rule < count ? rules[rule].settings : rest;
  }
  // The rules allow shared memory for some peer of a listening port.
  [[nodiscard]] bool may_accept(std::uint16_t port) const noexcept;
  // The rules allow shared memory for some connection.
  [[nodiscard]] bool is_on() const noexcept;
};

// EXS_SOCKETS and EXS_SHM_USERS. They override the file word by word.
struct Environment {
  std::string_view words;
  std::string_view users;
};

// Lines that do not parse and are ignored.
struct BadLines {
  static constexpr std::uint32_t kLinesMax = 8;
  struct Line {
    std::uint32_t number = 0;
    const char* cause = "";
    std::string_view word;  // the word of the line that is wrong
  };

  std::uint32_t count = 0;  // lines that are kept
  std::uint32_t left_out = 0;
  Line lines[kLinesMax];
};

// Skips lines about other programs without checking them.
void parse_policy(std::string_view text, const ProgramNames& program, const Environment& environment,
                  Policy& policy, BadLines& bad) noexcept;

// "*" matches any characters, "?" matches one.
bool matches_glob(std::string_view glob, std::string_view name) noexcept;
bool parse_pattern(std::string_view text, Pattern& pattern) noexcept;

// The last component of the path.
std::string_view name_of_path(std::string_view path) noexcept;

}  // namespace exs::sockets
