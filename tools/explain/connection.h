// A trial connection to an exs server, and its report on providers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/exs.h>

#include <cstdint>
#include <string>
#include <vector>

namespace explain {

struct Target {
  std::string host;
  std::uint16_t port = 0;
  std::string provider;  // empty: the environment's choice
  int limit_ms = 0;
};

// Parses "HOST:PORT" or "[V6]:PORT". Throws tools::UsageError.
Target parse_target(const std::string& word);

struct ConnectResult {
  int error = 0;         // errno value; 0: it succeeded, and has been closed again; EINTR: a signal ended it
  std::string address;   // of the peer, in numbers
  std::string provider;  // empty: none
  double connect_seconds = 0;
  std::string words;  // EXS_SO_ERROR_TEXT: how far it came, and what to do
  std::vector<exs_reason_t> reasons;
};
// Throws tools::Failure if the connect could not even be tried.
ConnectResult connect_to(const Target& target);

}  // namespace explain
