// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fetch/http.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace fetch {
namespace {

constexpr std::size_t kLineBytesMax = 16384;
constexpr int kFieldsMax = 1000;
constexpr std::uint64_t kBodyBytesMax = std::uint64_t{1} << 40U;
constexpr std::size_t kRestBytes = 65536;

[[noreturn]] void fail_answer(const std::string& what) {
  throw tools::Failure("the server does not answer as HTTP/1.1 has it: " + what);
}

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Returns the number that the text begins with; only `end` may follow it.
std::uint64_t number_of(std::string_view text, int base, char end, const std::string& what) {
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, number, base);
  if (error != std::errc() || (stop != last && *stop != end) || number > kBodyBytesMax)
    fail_answer(what + " \"" + std::string(text) + "\"");
  return number;
}

}  // namespace

const Answer& HttpConnection::get(const Url& url) {
  body_.clear();
  is_open_ = false;  // until all is read
  stream_->send("GET " + url.path + " HTTP/1.1\r\nHost: " + url.authority() +
                "\r\nUser-Agent: exs-fetch\r\n\r\n");
  Head head = read_head();
  while (head.status / 100 == 1) head = read_head();
  read_body(head);
  is_open_ = !head.closes;
  answer_ = {head.status, {body_.text()}};
  return answer_;
}

bool HttpConnection::fill() {
  begin_ = 0;
  end_ = stream_->receive(received_, EXS_MHANDLE_UNREGISTERED, false);
  return end_ > 0;
}

std::string HttpConnection::read_line() {
  std::string line;
  for (;;) {
    if (begin_ == end_ && !fill()) throw Broken("the server has ended the connection");
    const char* const from = received_.data() + begin_;
    const auto* const end = std::find(from, static_cast<const char*>(received_.data() + end_), '\n');
    line.append(from, end);
    if (line.size() > kLineBytesMax) fail_answer("a line of more than 16 KiB");
    begin_ = static_cast<std::size_t>(end - received_.data());
    if (begin_ == end_) continue;
    ++begin_;
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }
}

HttpConnection::Head HttpConnection::read_head() {
  const std::string first = read_line();
  if (!first.starts_with("HTTP/1.") || first.size() < 12) fail_answer("\"" + first.substr(0, 80) + "\"");
  Head head;
  head.status = static_cast<int>(number_of(std::string_view(first).substr(9), 10, ' ', "the status"));
  if (head.status < 100 || head.status > 999) fail_answer("the status " + std::to_string(head.status));
  head.closes = first.starts_with("HTTP/1.0");
  for (int fields = 0;; ++fields) {
    const std::string line = read_line();
    if (line.empty()) return head;
    if (fields == kFieldsMax) fail_answer("more than 1000 fields");
    take_field(line, head);
  }
}

void HttpConnection::take_field(std::string_view line, Head& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) fail_answer("a field without a colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (is_same(name, "Content-Length")) {
    head.has_length = true;
    head.length = number_of(value, 10, '\0', "the length");
  } else if (is_same(name, "Transfer-Encoding")) {
    if (!is_same(value, "chunked")) fail_answer("an encoding that was not asked for");
    head.is_chunked = true;
  } else if (is_same(name, "Connection")) {
    head.closes = head.closes || is_same(value, "close");
  }
}

void HttpConnection::read_body(const Head& head) {
  if (head.status == 204 || head.status == 304) return;
  if (head.is_chunked) {
    read_chunks();
  } else if (head.has_length) {
    read_bytes(head.length);
  } else if (head.closes) {
    read_rest();
  } else {
    fail_answer("no length, and no end of the connection");
  }
}

void HttpConnection::read_bytes(std::uint64_t length) {
  const std::size_t here = std::min<std::size_t>(end_ - begin_, length);
  body_.append({received_.data() + begin_, here});
  begin_ += here;
  const std::size_t left = length - here;
  if (left == 0) return;
  const std::span<char> room = body_.room(left);
  const std::size_t count = stream_->receive(room, body_.region(), true);
  if (count < left) throw Broken("the server has ended the connection within an answer");
  body_.grow(count);
}

void HttpConnection::read_chunks() {
  for (;;) {
    const std::uint64_t length = number_of(read_line(), 16, ';', "the length of a chunk");
    if (length == 0) break;
    read_bytes(length);
    if (!read_line().empty()) fail_answer("a chunk that does not end");
  }
  for (int fields = 0; !read_line().empty(); ++fields) {
    if (fields == kFieldsMax) fail_answer("more than 1000 fields behind the body");
  }
}

void HttpConnection::read_rest() {
  body_.append({received_.data() + begin_, end_ - begin_});
  begin_ = end_;
  for (;;) {
    const std::span<char> room = body_.room(kRestBytes);
    const std::size_t count = stream_->receive(room, body_.region(), false);
    if (count == 0) return;
    body_.grow(count);
  }
}

}  // namespace fetch
