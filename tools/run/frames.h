// The frames between exs-run and an exs-run --agent, over a pipe in each direction. A frame is a line "WORD BYTES", followed by that many
// bytes. The bytes are words, unless the table says otherwise.
//
// | from  | word      | bytes |
// | ----- | --------- | ----- |
// | run   | job       | version of these frames, size of the job, 1 with tags or 0, seconds of silence that count as the other end's death |
// | run   | line      | the first line for each process, with the job's key |
// | run   | directory | where processes run |
// | run   | variable  | NAME=VALUE of the environment |
// | run   | argument  | one argument of the program, its name first |
// | run   | start     | the ranks |
// | run   | tell      | the ranks, a newline, and lines for them |
// | run   | signal    | rank and number |
// | run   | close     | the rank whose lines are ignored from now on |
// | run   | hold, go  | no more output, and output again |
// | run   | unread    | the stream that has no reader any more |
// | run   | input     | bytes for rank 0; none: the end of its input |
// | run   | finish    | the job has ended |
// | agent | agent     | version; the first frame |
// | agent | heard     | the rank, a space, and the line |
// | agent | out       | the stream, a space, and lines |
// | agent | took      | nothing: the input is in the pipe, and more may follow |
// | agent | ended     | rank and status of waitpid() |
// | agent | cannot    | exit status, a space, and the reason why nothing could be started |
// | both  | alive     | nothing: four times within the seconds of silence |
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace run {

inline constexpr int kFramesVersion = 1;

struct Frame {
  std::string word;
  std::string bytes;
};

class FrameChannel {
 public:
  // Makes both descriptors nonblocking.
  FrameChannel(exs::UniqueFd in, exs::UniqueFd out);

  void send(std::string_view word, std::string_view bytes = {});
  // Sends as much as the pipe takes.
  void send_rest();
  [[nodiscard]] bool has_to_send() const { return !to_send_.empty(); }
  [[nodiscard]] std::size_t bytes_to_send() const { return bytes_to_send_; }
  // Returns the frames that have arrived. Closes the channel at the end, and on an invalid frame; is_damaged() is true then.
  std::vector<Frame> receive();
  void close();

  [[nodiscard]] bool is_open() const { return in_.valid(); }
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }
  // The other end reads no more, but may have sent frames before.
  [[nodiscard]] bool is_deaf() const { return is_deaf_; }
  [[nodiscard]] int in() const { return in_.get(); }
  // -1: there is nothing to send.
  [[nodiscard]] int out() const { return has_to_send() ? out_.get() : -1; }
  // Bytes have arrived since the last call.
  [[nodiscard]] bool take_heard() { return std::exchange(has_heard_, false); }

 private:
  // Takes a frame out of the received bytes.
  std::optional<Frame> take(std::size_t& at);

  exs::UniqueFd in_, out_;
  std::string received_;
  std::deque<std::string> to_send_;
  std::size_t first_bytes_gone_ = 0;
  std::size_t bytes_to_send_ = 0;
  bool is_damaged_ = false;
  bool is_deaf_ = false;
  bool has_heard_ = false;
};

// Removes the first word of `text`, with the space or newline behind it, and returns it.
std::string_view take_word(std::string_view& text);
// Returns nothing if the first word is no decimal number.
std::optional<int> take_number(std::string_view& text);

// Both ends send signs of life. Silence is counted in looks, not in time: an end that was itself stopped, or had no processor, has seen
// no silence.
class Pulse {
 public:
  // Starts again with this limit.
  void set_silence(int seconds);
  // Sends a sign of life if it is due. Returns false if the other end has been silent for too long.
  bool beat(FrameChannel& channel);
  [[nodiscard]] std::uint64_t due_ns() const { return next_ns_; }

 private:
  std::uint64_t between_ns_ = 0;
  std::uint64_t next_ns_ = UINT64_MAX;
  int silent_beats_ = 0;
};

}  // namespace run
