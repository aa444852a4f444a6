// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/line_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace run {
namespace {

constexpr std::size_t kPipeBytes = 64 << 10;     // the default size
constexpr std::size_t kPieceBytesMax = 1 << 20;  // longer lines are split into lines of this size

}  // namespace

LinePipe::LinePipe(Stream stream, exs::UniqueFd read_end, std::string tag)
    : stream_(stream), read_end_(std::move(read_end)), tag_(std::move(tag)) {}

bool LinePipe::pass_on(OutputSink& output) {
  has_added_ = false;
  if (read_end_.valid()) read_some(output);
  return has_added_;
}

bool LinePipe::pass_on_rest(OutputSink& output) {
  has_added_ = false;
  if (!read_end_.valid()) return false;
  // Orphaned processes may write for ever. The process's own last output fits into the pipe, so this bounds the reading.
  const int capacity = ::fcntl(read_end_.get(), F_GETPIPE_SZ);
  std::size_t left = capacity > 0 ? static_cast<std::size_t>(capacity) : kPipeBytes;
  while (read_end_.valid() && left > 0) {
    const std::size_t count = read_some(output);
    if (count == 0) break;
    left -= std::min(left, count);
  }
  return has_added_;
}

void LinePipe::finish(OutputSink& output) {
  read_end_.reset();
  if (!unfinished_.empty()) add(output, unfinished_ + "\n");
  unfinished_.clear();
}

std::size_t LinePipe::read_some(OutputSink& output) {
  std::array<char, kPipeBytes> some;
  const ssize_t count = ::read(read_end_.get(), some.data(), some.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) {
    finish(output);
    return 0;
  }
  unfinished_.append(some.data(), static_cast<std::size_t>(count));
  add_whole_lines(output);
  return static_cast<std::size_t>(count);
}

void LinePipe::add_whole_lines(OutputSink& output) {
  if (unfinished_.size() > kPieceBytesMax && unfinished_.find('\n') == std::string::npos) unfinished_ += '\n';
  const std::size_t end = unfinished_.rfind('\n') + 1;  // npos + 1 is 0
  if (end == 0) return;
  add(output, std::string_view(unfinished_).substr(0, end));
  unfinished_.erase(0, end);
}

void LinePipe::add(OutputSink& output, std::string_view lines) {
  has_added_ = true;
  output.add(stream_, tagged(lines));
}

std::string LinePipe::tagged(std::string_view lines) const {
  if (tag_.empty()) return std::string(lines);
  std::string with_tags;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n') + 1;
    with_tags.append(tag_).append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return with_tags;
}

}  // namespace run
