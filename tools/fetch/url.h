// The location of a file.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace fetch {

struct Url {
  std::string service;  // its name or ID; empty: the file is at host and port
  std::string host;
  std::uint16_t port = 80;
  std::string path;  // with what follows "?"

  [[nodiscard]] std::string text() const;
  // Names the server or the service.
  [[nodiscard]] std::string server() const;
  [[nodiscard]] std::string authority() const;
};

// Parses "http://HOST:PORT/PATH", the same without "http://", and "exs-svc://NAME/PATH". Throws UsageError.
Url parse_url(const std::string& text);

}  // namespace fetch
