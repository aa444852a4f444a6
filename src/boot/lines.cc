// SPDX-License-Identifier: BSD-2-Clause
#include "src/boot/lines.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/kernel.h"

namespace exs::boot {
namespace {

bool is_gone(int error) noexcept {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN;
}

}  // namespace

Status Lines::send(std::string_view lines) const noexcept {
  while (!lines.empty()) {
    const ssize_t sent = kernel::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL);
    if (sent >= 0) lines.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EINTR) return Status(is_gone(errno) ? ECONNRESET : errno);
  }
  return Status();
}

Result<std::string> Lines::receive() {
  return next(0);
}

Result<std::string> Lines::receive_now() {
  return next(MSG_DONTWAIT);
}

Result<std::string> Lines::next(int flags) {
  std::size_t looked_at = 0;
  for (;;) {
    const std::size_t end = received_.find('\n', looked_at);
    if (std::min(end, received_.size()) > kLineBytesMax) return failure(EPROTO);
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    looked_at = received_.size();
    if (const Status fetched = fetch(flags); !fetched.ok()) return failure(fetched);
  }
}

Status Lines::fetch(int flags) {
  std::array<char, 4096> some;
  ssize_t count = -1;
  do {
    count = kernel::recv(socket_.get(), some.data(), some.size(), flags);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return Status(is_gone(errno) ? ECONNRESET : errno);
  if (count == 0) return Status(ECONNRESET);
  received_.append(some.data(), static_cast<std::size_t>(count));
  return Status();
}

std::string_view take_word(std::string_view& line) noexcept {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return word;
}

int number_of(std::string_view word) noexcept {
  int number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && word.front() != '-' ? number : -1;
}

}  // namespace exs::boot
