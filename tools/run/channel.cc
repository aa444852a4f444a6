// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace run {
namespace {

constexpr std::size_t kLineBytesMax = 8192;  // as in src/boot/lines.h
// More than a socket holds, so nothing of an ended process is left. But it is a limit, so that no process keeps us here.
constexpr int kReadsMax = 256;

}  // namespace

void Channel::send(Lines lines) {
  if (!is_open()) return;
  to_send_.push_back(std::move(lines));
  send_rest();
}

void Channel::send_rest() {
  while (is_open() && has_to_send()) {
    const std::string& first = *to_send_.front();
    const ssize_t sent =
        ::send(socket_.get(), first.data() + sent_bytes_, first.size() - sent_bytes_, MSG_NOSIGNAL);
    if (sent < 0) {
      // The process may have sent lines before it closed; receive() reads them.
      if (errno != EAGAIN && errno != EINTR) give_up_sending();
      return;
    }
    sent_bytes_ += static_cast<std::size_t>(sent);
    if (sent_bytes_ < first.size()) continue;
    to_send_.pop_front();
    sent_bytes_ = 0;
  }
}

std::vector<std::string> Channel::receive() {
  std::vector<std::string> lines;
  std::array<char, 4096> some;
  for (int reads = 0; is_open() && reads < kReadsMax; ++reads) {
    const ssize_t count = ::recv(socket_.get(), some.data(), some.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      close();
      break;
    }
    received_.append(some.data(), static_cast<std::size_t>(count));
    for (std::string& line : take_lines()) lines.push_back(std::move(line));
    if (received_.size() > kLineBytesMax) close();
  }
  return lines;
}

void Channel::close() {
  socket_.reset();
  give_up_sending();
}

void Channel::give_up_sending() {
  to_send_.clear();
  sent_bytes_ = 0;
}

std::vector<std::string> Channel::take_lines() {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = received_.find('\n'); end != std::string::npos; end = received_.find('\n', begin)) {
    lines.push_back(received_.substr(begin, end - begin));
    begin = end + 1;
  }
  received_.erase(0, begin);
  return lines;
}

}  // namespace run
