// The source of files: a server at the other end of a connection, or a service.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fetch/stream.h"
#include "tools/fetch/url.h"

namespace fetch {

struct Answer {
  int status = 0;
  std::vector<std::string_view> body;  // its pieces, in order
};

class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Gets a file; the answer is valid until the next call. Throws Broken. Throws Failure for an invalid answer; then the connection is
  // unusable.
  virtual const Answer& get(const Url& url) = 0;
  // Another request may follow.
  [[nodiscard]] virtual bool is_open() const = 0;
  [[nodiscard]] virtual std::string provider() const = 0;
};

}  // namespace fetch
