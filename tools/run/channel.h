// The launcher's end of the socket over which a process of the job learns of it. The lines are in src/boot/launcher_boot.h.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tools/run/descriptor.h"

namespace run {

class Channel {
 public:
  // Many processes are sent the same.
  using Lines = std::shared_ptr<const std::string>;

  // `socket` does not block.
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  // Sends now what the socket takes, and the rest by and by.
  void send(Lines lines);
  void send_rest();
  [[nodiscard]] bool has_to_send() const { return !to_send_.empty(); }
  // The lines that are there, without their ends. Closes when no more will come, or what comes is no line.
  std::vector<std::string> receive();
  void close();

  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  std::vector<std::string> take_lines();
  void give_up_sending();

  Descriptor socket_;
  std::string received_;  // the beginning of a line
  std::deque<Lines> to_send_;
  std::size_t sent_bytes_ = 0;  // of the first
};

}  // namespace run
