// What one process writes to its standard output or error, on its way to exs-run's: by whole lines.
#pragma once

#include <string>
#include <string_view>

#include "tools/run/descriptor.h"
#include "tools/run/output.h"

namespace run {

class LinePipe {
 public:
  // `read_end` does not block. The tag comes before each line.
  LinePipe(Stream stream, Descriptor read_end, std::string tag);

  // Passes on what is there, without waiting.
  void pass_on(OutputSink& output);
  // The same when the process has ended: all that it has written. More may come of processes that it has left behind.
  void pass_on_rest(OutputSink& output);
  // Nothing more is passed on. A last line without an end gets one.
  void finish(OutputSink& output);
  // Has the process told by SIGPIPE that nobody reads it any more.
  void close() { read_end_.close(); }

  [[nodiscard]] Stream stream() const { return stream_; }
  // -1: it is finished or closed.
  [[nodiscard]] int descriptor() const { return read_end_.get(); }

 private:
  // How many bytes were there; 0: none, or none will come.
  std::size_t read_some(OutputSink& output);
  void add_whole_lines(OutputSink& output);
  [[nodiscard]] std::string tagged(std::string_view lines) const;

  Stream stream_;
  Descriptor read_end_;
  std::string tag_;
  std::string unfinished_;  // the beginning of a line
};

}  // namespace run
