// Who talks to whom, and how: the connections of a survey, those joined that have the same ends, ways and reasons.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/explain/sockets_survey.h"

namespace explain {

// What one end sends to the other.
struct Traffic {
  std::string way;     // "ring", "tcp", "carried"
  std::string reason;  // the code for why it is not the ring; empty: it is, or the sender is unknown
  std::optional<std::uint64_t> ring_bytes;  // empty: unknown
  std::optional<std::uint64_t> tcp_bytes;
};

struct Pair {
  std::string left;   // "77 redis-cli", "192.0.2.7:80"
  std::string right;  // the end that accepted, if `is_directed`
  bool is_directed = false;
  std::size_t connections = 0;
  Traffic there;  // from left to right
  Traffic back;
};

struct SocketsMap {
  std::size_t connections = 0;
  std::vector<Pair> pairs;           // those of one left end follow each other
  std::vector<std::string> reasons;  // "CODE: SENTENCE", each once
  std::vector<std::string> alone;    // processes without a connection, and why
};

SocketsMap map_of(const SocketsSurvey& survey);
void print(const SocketsMap& map);
// The map as a drawing, the text of an SVG file.
std::string drawing_of(const SocketsMap& map);

}  // namespace explain
