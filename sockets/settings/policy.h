// Rules of sockets.conf: which connections of which programs take shared memory, and how. Used inside programs that know nothing
// of the layer: no allocation, no exceptions. The bytes of the file may be anything.
//
//   program  side  peer-or-port  words
//
// Of the lines about a program the first that fits a connection counts. A line about all of its connections ends the list.
#pragma once

#include <cstdint>
#include <string_view>

#include "sockets/settings/settings.h"

namespace exs::sockets {

// By what names rules know a program: a symbolic link that it was started by has another than its file. Without folders.
struct ProgramNames {
  std::string_view started_as;
  std::string_view file;
};

enum class Side : std::uint8_t { kAny, kListen, kConnect };

// An IPv4 address is one of IPv6 here, as IPv6 sockets show it (::ffff:127.0.0.1).
struct Address {
  std::uint8_t bytes[16] = {};
};

// What rules know of a connection: who is the peer, and the port of the end that listens.
struct Connection {
  Side side = Side::kAny;
  Address peer;
  std::uint16_t port = 0;
};

// Third column of a line.
struct Pattern {
  bool any_address = true;
  bool is_v4 = false;
  std::uint8_t prefix_bits = 0;  // of the 128
  Address address;
  std::uint16_t port = 0;  // 0: any
};

struct Rule {
  Side side = Side::kAny;
  Pattern pattern;
  std::uint32_t line = 0;
  Settings settings;
};

// Thread: immutable value.
struct Policy {
  static constexpr std::uint32_t kRulesMax = 32;

  Settings rest;  // of connections that no rule is about
  std::uint32_t rest_line = 0;
  std::uint32_t count = 0;
  Rule rules[kRulesMax];

  // Which rule counts; `count`: none.
  [[nodiscard]] std::uint32_t find(const Connection& connection) const noexcept;
  [[nodiscard]] const Settings& settings_at(std::uint32_t rule) const noexcept {
    return rule < count ? rules[rule].settings : rest;
  }
  // Whether a connection to a port that listens here may take shared memory, whoever the peer is.
  [[nodiscard]] bool may_accept(std::uint16_t port) const noexcept;
  // Whether any connection may.
  [[nodiscard]] bool is_on() const noexcept;
};

// What goes before the file, word by word: EXS_SOCKETS and EXS_SHM_USERS.
struct Environment {
  std::string_view words;
  std::string_view users;
};

// Lines that mean nothing, and so do not count.
struct BadLines {
  static constexpr std::uint32_t kLinesMax = 8;
  struct Line {
    std::uint32_t number = 0;
    const char* cause = "";
    std::string_view word;  // of the text
  };

  std::uint32_t count = 0;  // of the lines that are kept
  std::uint32_t left_out = 0;
  Line lines[kLinesMax];
};

// Lines about other programs are passed over, whatever they say.
void parse_policy(std::string_view text, const ProgramNames& program, const Environment& environment,
                  Policy& policy, BadLines& bad) noexcept;

// "*" for any characters, "?" for one.
bool matches_glob(std::string_view glob, std::string_view name) noexcept;
bool parse_pattern(std::string_view text, Pattern& pattern) noexcept;

// Without its folder.
std::string_view name_of_path(std::string_view path) noexcept;

}  // namespace exs::sockets
