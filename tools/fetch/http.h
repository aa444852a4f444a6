// Requests of HTTP/1.1 on a connection that stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fetch/body.h"
#include "tools/fetch/stream.h"

namespace fetch {

struct Url {
  std::string host;
  std::uint16_t port = 80;
  std::string path;  // with what follows "?"

  [[nodiscard]] std::string text() const { return "http://" + authority() + path; }
  [[nodiscard]] std::string authority() const;
};

// "http://HOST:PORT/PATH", and the same without "http://". Throws UsageError.
Url parse_url(const std::string& text);

class Connection {
 public:
  explicit Connection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // Asks for it, and returns the status; the body of the answer is in `body` then. Throws Broken; and Failure, after which
  // the connection is of no use, for an answer that is none.
  int get(const Url& url, Body& body);
  // Whether another request may follow.
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] std::string provider() const { return stream_->provider(); }

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
  void read_body(const Head& head, Body& body);
  void read_bytes(std::uint64_t length, Body& body);
  void read_chunks(Body& body);
  void read_rest(Body& body);
  bool fill();

  std::unique_ptr<Stream> stream_;
  bool is_open_ = true;
  // What has been received and not yet looked at: a head, and the first bytes of its body. Short, as bodies are not to be copied.
  std::vector<char> received_ = std::vector<char>(8192);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace fetch
