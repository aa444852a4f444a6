// What is on its way to the standard output and error of exs-run. In one row, so that lines stay whole and in order where
// both are one file.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

namespace run {

enum class Stream : int { kOut = 1, kError = 2 };  // the numbers of their descriptors

class Output {
 public:
  // Whole lines.
  void add(Stream stream, std::string lines);
  // "exs-run: SENTENCE", as a line of the standard error.
  void say(const std::string& sentence);
  void discard();

  [[nodiscard]] bool is_empty() const { return row_.empty(); }
  // False: whoever reads it is slow, so what would come next may wait.
  [[nodiscard]] bool has_room() const { return waiting_bytes_ < kWaitingBytesMax; }
  // False: nobody reads it any more.
  [[nodiscard]] bool is_read(Stream stream) const { return !unread_.contains(stream); }

  // Where write() would write. -1: nothing waits.
  [[nodiscard]] int descriptor() const;
  // Writes a part. Does not wait if the descriptor is ready.
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
