// What is on its way to the standard output and error of exs-run. In one row, so that lines stay whole and in order where
// both are one file.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

namespace run {

enum class Stream : int { kOut = 1, kError = 2 };  // the numbers of their descriptors

// Where the lines of processes go.
class OutputSink {
 public:
  // Whole lines.
  virtual void add(Stream stream, std::string lines) = 0;
  // False: whoever reads it is slow, so what would come next may wait.
  [[nodiscard]] virtual bool has_room() const = 0;
  // False: nobody reads it any more.
  [[nodiscard]] virtual bool is_read(Stream stream) const = 0;

 protected:
  ~OutputSink() = default;
};

class Output final : public OutputSink {
 public:
  void add(Stream stream, std::string lines) override;
  // "exs-run: SENTENCE", as a line of the standard error.
  void say(const std::string& sentence);
  void discard();

  [[nodiscard]] bool is_empty() const { return row_.empty(); }
  [[nodiscard]] bool has_room() const override { return waiting_bytes_ < kWaitingBytesMax; }
  [[nodiscard]] bool is_read(Stream stream) const override { return !unread_.contains(stream); }

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
