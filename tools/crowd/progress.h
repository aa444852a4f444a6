// The progress of exs-crowd: one line on a terminal, nothing elsewhere. Also its end by SIGINT or SIGTERM.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace crowd {

// Thread: the main one of the server process.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a phase, such as "round 1 of 2, connecting", at 0 of `goal`.
  void begin(const std::string& doing, std::uint64_t goal);
  // Cheap; prints from the program's first half second on, five times a second.
  void update(std::uint64_t done, std::uint64_t at_ns) {
    if (on_terminal_ && at_ns >= next_ns_) print(done, at_ns);
  }

 private:
  void print(std::uint64_t done, std::uint64_t at_ns);

  const bool on_terminal_;
  std::string doing_;
  std::uint64_t goal_ = 0;
  std::uint64_t next_ns_;
};

// From now on either signal ends the process at once, with status 130 and a line that names the phase. An orderly close of ten thousand
// connections would take seconds; the kernel does it, and the clients end with this process.
void end_on_signals();
// Handles a signal that reached another process of the measurement.
[[noreturn]] void end_as_interrupted();

}  // namespace crowd
