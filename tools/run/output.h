// Output on its way to the standard output and error of exs-run. Both share one queue, so lines stay whole and in order if both are one
// file.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

namespace run {

enum class Stream : int { kOut = 1, kError = 2 };  // the numbers of their descriptors

// The destination of the processes' lines.
class OutputSink {
 public:
  // `lines` are whole.
  virtual void add(Stream stream, std::string lines) = 0;
  // Returns false if the reader is slow, so further output may wait.
  [[nodiscard]] virtual bool has_room() const = 0;
  // Returns false if the stream has no reader any more.
  [[nodiscard]] virtual bool is_read(Stream stream) const = 0;

 protected:
  ~OutputSink() = default;
};

class Output final : public OutputSink {
 public:
  void add(Stream stream, std::string lines) override;
  // Adds "exs-run: SENTENCE" as a line of the standard error.
  void say(const std::string& sentence);
  void discard();

  [[nodiscard]] bool is_empty() const { return row_.empty(); }
  [[nodiscard]] bool has_room() const override { return waiting_bytes_ < kWaitingBytesMax; }
  [[nodiscard]] bool is_read(Stream stream) const override { return !unread_.contains(stream); }

  // The descriptor that write() would use. -1: nothing waits.
  [[nodiscard]] int descriptor() const;
  // Writes a part. Does not block if the descriptor is ready.
  void write();

 private:
  static constexpr std::size_t kWaitingBytesMax = 1 << 20;

  struct Piece {
    Stream stream;
    std::string lines;
  };
  void took(std::size_t bytes);
  void give_up(Stream stream, int error);

  std::deque<Piece> row_;
  std::size_t first_bytes_gone_ = 0;  // of the first piece
  std::size_t waiting_bytes_ = 0;
  std::set<Stream> unread_;
};

}  // namespace run
