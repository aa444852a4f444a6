// Requests of HTTP/1.1 on a persistent connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fetch/body.h"
#include "tools/fetch/connection.h"
#include "tools/fetch/stream.h"

namespace fetch {

class HttpConnection final : public Connection {
 public:
  explicit HttpConnection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  const Answer& get(const Url& url) override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  [[nodiscard]] std::string provider() const override { return stream_->provider(); }

 private:
  struct Head {
    int status = 0;
    bool is_chunked = false;
    bool has_length = false;
    bool closes = false;
    std::uint64_t length = 0;
  };

  Head read_head();
  std::string read_line();
  void take_field(std::string_view line, Head& head);
  void read_body(const Head& head);
  void read_bytes(std::uint64_t length);
  void read_chunks();
  void read_rest();
  bool fill();

  std::unique_ptr<Stream> stream_;
  bool is_open_ = true;
  Body body_;
  Answer answer_;
  // Bytes received and not yet parsed: a head, and the first bytes of its body. The buffer is short because bodies should not be copied.
  std::vector<char> received_ = std::vector<char>(8192);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace fetch
