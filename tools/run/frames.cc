// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/frames.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "tools/common/clock.h"

namespace run {
namespace {

constexpr std::size_t kHeadBytesMax = 32;
constexpr std::size_t kBytesMax = 16 << 20;
constexpr int kFramesAtOnce = 64;
constexpr int kBeatsOfSilence = 4;

void unblock(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

FrameChannel::FrameChannel(exs::UniqueFd in, exs::UniqueFd out) : in_(std::move(in)), out_(std::move(out)) {
  unblock(in_.get());
  unblock(out_.get());
}

void FrameChannel::send(std::string_view word, std::string_view bytes) {
  if (!is_open() || is_deaf_) return;
  std::string frame(word);
  frame.append(" ").append(std::to_string(bytes.size())).append("\n").append(bytes);
  bytes_to_send_ += frame.size();
  to_send_.push_back(std::move(frame));
  send_rest();
}

void FrameChannel::send_rest() {
  while (is_open() && has_to_send()) {
    const std::string& first = to_send_.front();
    const ssize_t sent =
        ::write(out_.get(), first.data() + first_bytes_gone_, first.size() - first_bytes_gone_);
    if (sent < 0) {
      // receive() still gets what the other end sent before it closed.
      if (errno != EAGAIN && errno != EINTR) {
        to_send_.clear();
        first_bytes_gone_ = bytes_to_send_ = 0;
        is_deaf_ = true;
      }
      return;
    }
    first_bytes_gone_ += static_cast<std::size_t>(sent);
    bytes_to_send_ -= static_cast<std::size_t>(sent);
    if (first_bytes_gone_ < first.size()) continue;
    to_send_.pop_front();
    first_bytes_gone_ = 0;
  }
}

std::vector<Frame> FrameChannel::receive() {
  std::vector<Frame> frames;
  std::array<char, 65536> some;
  bool has_ended = false;
  for (int reads = 0; is_open() && !has_ended && reads < kFramesAtOnce; ++reads) {
    const ssize_t count = ::read(in_.get(), some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    has_ended = count <= 0;
    if (!has_ended) received_.append(some.data(), static_cast<std::size_t>(count));
    has_heard_ = true;
  }
  std::size_t at = 0;
  while (auto frame = take(at)) frames.push_back(std::move(*frame));
  received_.erase(0, at);
  if (has_ended || is_damaged_) close();
  return frames;
}

std::optional<Frame> FrameChannel::take(std::size_t& at) {
  const std::string_view all = std::string_view(received_).substr(at);
  const std::size_t end = all.find('\n');
  const std::string_view head = all.substr(0, end);
  if (head.size() > kHeadBytesMax) is_damaged_ = true;
  if (is_damaged_ || end == std::string_view::npos) return std::nullopt;
  std::string_view words = head;
  const std::string_view word = take_word(words);
  const auto bytes = take_number(words);
  if (word.empty() || !bytes || *bytes < 0 || static_cast<std::size_t>(*bytes) > kBytesMax) {
    is_damaged_ = true;
    return std::nullopt;
  }
  const auto length = static_cast<std::size_t>(*bytes);
  if (all.size() - end - 1 < length) return std::nullopt;
  at += end + 1 + length;
  return Frame{std::string(word), std::string(all.substr(end + 1, length))};
}

void FrameChannel::close() {
  in_.reset();
  out_.reset();
  to_send_.clear();
  first_bytes_gone_ = bytes_to_send_ = 0;
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = text.find_first_of(" \n");
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

std::optional<int> take_number(std::string_view& text) {
  const std::string_view word = take_word(text);
  int number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

void Pulse::set_silence(int seconds) {
  between_ns_ = static_cast<std::uint64_t>(seconds) * tools::kNsPerSecond / kBeatsOfSilence;
  next_ns_ = exs::monotonic_ns() + between_ns_;
  silent_beats_ = 0;
}

bool Pulse::beat(FrameChannel& channel) {
  const std::uint64_t now = exs::monotonic_ns();
  if (now < next_ns_) return true;
  next_ns_ = now + between_ns_;
  channel.send("alive");
  silent_beats_ = channel.take_heard() ? 0 : silent_beats_ + 1;
  return silent_beats_ < kBeatsOfSilence;
}

}  // namespace run
