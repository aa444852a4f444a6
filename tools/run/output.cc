// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/output.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>
#include <utility>

namespace run {
namespace {

// A ready pipe takes this many bytes at once. The part ends with a line if possible, so other writers of the pipe come between lines.
std::string_view next_part(std::string_view lines) {
  if (lines.size() <= PIPE_BUF) return lines;
  const std::size_t end = lines.rfind('\n', PIPE_BUF - 1);
  return lines.substr(0, end == std::string_view::npos ? PIPE_BUF : end + 1);
}

}  // namespace

void Output::add(Stream stream, std::string lines) {
  if (lines.empty() || !is_read(stream)) return;
  waiting_bytes_ += lines.size();
  row_.push_back({stream, std::move(lines)});
}

void Output::say(const std::string& sentence) {
  add(Stream::kError, "exs-run: " + sentence + "\n");
}

void Output::discard() {
  row_.clear();
  first_bytes_gone_ = waiting_bytes_ = 0;
}

int Output::descriptor() const {
  return row_.empty() ? -1 : static_cast<int>(row_.front().stream);
}

void Output::write() {
  if (row_.empty()) return;
  const Stream stream = row_.front().stream;
  const std::string_view part = next_part(std::string_view(row_.front().lines).substr(first_bytes_gone_));
  const ssize_t written = ::write(static_cast<int>(stream), part.data(), part.size());
  if (written >= 0)
    took(static_cast<std::size_t>(written));
  else if (errno != EAGAIN && errno != EINTR)
    give_up(stream, errno);
}

void Output::took(std::size_t bytes) {
  waiting_bytes_ -= bytes;
  first_bytes_gone_ += bytes;
  if (first_bytes_gone_ < row_.front().lines.size()) return;
  row_.pop_front();
  first_bytes_gone_ = 0;
}

void Output::give_up(Stream stream, int error) {
  unread_.insert(stream);
  std::deque<Piece> others;
  for (Piece& piece : row_) {
    if (piece.stream != stream) others.push_back(std::move(piece));
  }
  discard();
  for (Piece& piece : others) add(piece.stream, std::move(piece.lines));
  // EPIPE is no news: somebody has closed the reading end.
  if (error != EPIPE) say("cannot write the output: " + std::generic_category().message(error));
}

}  // namespace run
