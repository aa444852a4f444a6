// What exs-run and an exs-run --agent say to each other, over the two ends of a pipe each: frames, each a line "WORD BYTES" and so many
// bytes behind it. Those bytes are words, where nothing else is said.
//
// | from  | word      | bytes |
// | ----- | --------- | ----- |
// | run   | job       | version of these frames, size of the job, 1 with tags or 0, seconds of silence after which the other end has gone |
// | run   | line      | the first line for each process: it has the job's key |
// | run   | directory | where processes run |
// | run   | variable  | NAME=VALUE of the environment |
// | run   | argument  | one of the program's, its name first |
// | run   | start     | the ranks |
// | run   | tell      | the ranks, a line's end, and lines for them |
// | run   | signal    | rank and number |
// | run   | close     | the rank that is not heard any more |
// | run   | hold, go  | no more output, and output again |
// | run   | unread    | the stream that nobody reads |
// | run   | input     | of rank 0; none: its end |
// | run   | finish    | the job has ended |
// | agent | agent     | version: the first |
// | agent | heard     | the rank, a space, and the line |
// | agent | out       | the stream, a space, and lines |
// | agent | took      | the input is in the pipe, and there may be more |
// | agent | ended     | rank and what waitpid() told |
// | agent | cannot    | exit status, a space, and why nothing could be started |
// | both  | alive     | nothing: four times within the seconds of silence |
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/run/descriptor.h"

namespace run {

inline constexpr int kFramesVersion = 1;

struct Frame {
  std::string word;
  std::string bytes;
};

class FrameChannel {
 public:
  // They do not block from then on.
  FrameChannel(Descriptor in, Descriptor out);

  void send(std::string_view word, std::string_view bytes = {});
  // Sends what the other end takes.
  void send_rest();
  [[nodiscard]] bool has_to_send() const { return !to_send_.empty(); }
  [[nodiscard]] std::size_t bytes_to_send() const { return bytes_to_send_; }
  // The frames that are there. Closes at the end, and where what comes is no frame, which is_damaged() tells.
  std::vector<Frame> receive();
  void close();

  [[nodiscard]] bool is_open() const { return in_.is_open(); }
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }
  // The other end takes nothing any more, but may have said something before.
  [[nodiscard]] bool is_deaf() const { return is_deaf_; }
  [[nodiscard]] int in() const { return in_.get(); }
  // -1: it has nothing to send.
  [[nodiscard]] int out() const { return has_to_send() ? out_.get() : -1; }
  // Whether something has come since this was asked last.
  [[nodiscard]] bool take_heard() { return std::exchange(has_heard_, false); }

 private:
  // Takes one off the bytes received.
  std::optional<Frame> take(std::size_t& at);

  Descriptor in_, out_;
  std::string received_;
  std::deque<std::string> to_send_;
  std::size_t first_bytes_gone_ = 0;
  std::size_t bytes_to_send_ = 0;
  bool is_damaged_ = false;
  bool is_deaf_ = false;
  bool has_heard_ = false;
};

// The first word of `text`, which is taken off it with the space or line's end behind it.
std::string_view take_word(std::string_view& text);
// Nothing: it is no decimal number.
std::optional<int> take_number(std::string_view& text);

// Both ends say every so often that they are there. Silence is counted in looks, as an end that was itself kept from looking, stopped or
// without a processor, knows of none.
class Pulse {
 public:
  // Begins anew.
  void set_silence(int seconds);
  // Says it if it is time. False: the other end has said nothing for too long.
  bool beat(FrameChannel& channel);
  [[nodiscard]] std::uint64_t due_ns() const { return next_ns_; }

 private:
  std::uint64_t between_ns_ = 0;
  std::uint64_t next_ns_ = UINT64_MAX;
  int silent_beats_ = 0;
};

}  // namespace run
