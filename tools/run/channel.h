// The launcher's end of the socket between it and a process of the job. The lines are in src/boot/launcher_boot.h.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace run {

class Channel {
 public:
  // Shared, because many processes get the same lines.
  using Lines = std::shared_ptr<const std::string>;

  // `socket` must be nonblocking.
  explicit Channel(exs::UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends now what fits into the socket, and the rest later.
  void send(Lines lines);
  void send_rest();
  [[nodiscard]] bool has_to_send() const { return !to_send_.empty(); }
  // Returns the lines that have arrived, without their newlines. Closes the channel at the end, and on an overlong line.
  std::vector<std::string> receive();
  void close();

  [[nodiscard]] bool is_open() const { return socket_.valid(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  std::vector<std::string> take_lines();
  void give_up_sending();

  exs::UniqueFd socket_;
  std::string received_;  // an incomplete line
  std::deque<Lines> to_send_;
  std::size_t sent_bytes_ = 0;  // of the first one
};

}  // namespace run
