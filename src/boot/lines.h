// Lines of text over a stream socket, which this class owns.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace exs::boot {

// Thread: one at a time; but send() any, and what one call sends stays whole as long as the socket has room for it.
class Lines {
 public:
  static constexpr std::size_t kLineBytesMax = 8192;

  explicit Lines(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

  // Whole lines, with their ends. Waits for room. ECONNRESET: the other end has gone.
  Status send(std::string_view lines) const noexcept;
  // The next line, without its end. ECONNRESET: the other end has gone, perhaps in the middle of one. EPROTO: it is too long.
  Result<std::string> receive();
  // Likewise for the bytes that are there. EAGAIN: they are not a whole line.
  Result<std::string> receive_now();

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

 private:
  Result<std::string> next(int flags);
  Status fetch(int flags);

  UniqueFd socket_;
  std::string received_;
};

// Takes the word up to the first space, or all, off `line`.
std::string_view take_word(std::string_view& line) noexcept;
// -1: it is no decimal number from 0 to INT_MAX and nothing else.
int number_of(std::string_view word) noexcept;

}  // namespace exs::boot
