// A connection that carries bytes, by exs or by TCP. Throws Broken if it breaks.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/exs.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tools/common/failure.h"

namespace fetch {

// The connection could not be made, or ended early. Another one may succeed.
struct Broken : tools::Failure {
  using Failure::Failure;
};

struct Way {
  std::string provider = "auto";  // of exs
  bool is_tcp = false;
  bool is_written = false;  // the service writes its answers into our memory
  std::chrono::nanoseconds limit = std::chrono::seconds(30);  // of each step
};

class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  virtual void send(std::string_view text) = 0;
  // Receives at least one byte, or with `all` fills the memory. Fewer bytes: the peer has ended its sending. `into` is in `region`.
  virtual std::size_t receive(std::span<char> into, exs_mhandle_t region, bool all) = 0;
  // The provider of exs, or "tcp".
  [[nodiscard]] virtual std::string provider() const = 0;
};

std::unique_ptr<Stream> connect(const std::string& host, std::uint16_t port, const Way& way);

}  // namespace fetch
