// The pipe of one process's standard output or error, which is passed on to exs-run's by whole lines.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "tools/run/output.h"

namespace run {

class LinePipe {
 public:
  // `read_end` must be nonblocking. `tag` precedes each line.
  LinePipe(Stream stream, exs::UniqueFd read_end, std::string tag);

  // Passes on what has arrived, without waiting. Returns true if that was at least one line.
  bool pass_on(OutputSink& output);
  // Called when the process has ended: passes on the rest of its output. More may follow from processes that it left behind.
  bool pass_on_rest(OutputSink& output);
  // Stops passing on. A last line without a newline gets one.
  void finish(OutputSink& output);
  // Closes the reading end, so the process gets SIGPIPE.
  void close() { read_end_.reset(); }

  [[nodiscard]] Stream stream() const { return stream_; }
  // -1: finished or closed.
  [[nodiscard]] int descriptor() const { return read_end_.get(); }

 private:
  // Returns the number of bytes read; 0: none have arrived, or the pipe has ended.
  std::size_t read_some(OutputSink& output);
  void add_whole_lines(OutputSink& output);
  void add(OutputSink& output, std::string_view lines);
  [[nodiscard]] std::string tagged(std::string_view lines) const;

  Stream stream_;
  exs::UniqueFd read_end_;
  std::string tag_;
  std::string unfinished_;  // an incomplete line
  bool has_added_ = false;  // lines, since pass_on() began
};

}  // namespace run
