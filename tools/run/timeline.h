// The times of a job: what exs-run has seen of each rank, drawn with a row for each.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/common/svg.h"

namespace run {

class Timeline {
 public:
  enum class Event : std::uint8_t {
    started,
    joined,  // it has sent its card
    met,     // it has got the cards of all
    wrote,   // whole lines
    signalled,
    left,  // in order
    ended
  };

  void resize(std::size_t ranks) { rows_.resize(ranks); }
  // A job on several hosts names that of each rank.
  void set_host(std::size_t rank, const std::string& name) { rows_[rank].host = name; }
  // `words` describe a signal or an end.
  void note(std::size_t rank, Event event, const std::string& words = {});
  void note_end(std::size_t rank, const std::string& words, bool is_good);

  // The text of an SVG file. `title` is what the job ran.
  [[nodiscard]] std::string drawing(const std::string& title) const;

 private:
  struct Mark {
    std::uint64_t ns;
    Event event;
    std::string words;
  };
  struct Row {
    std::string host;
    std::vector<Mark> marks;  // in order
    std::size_t writings = 0;
    std::string end;
    bool has_good_end = true;
  };
  static void thin_out(Row& row);
  void draw_axis(tools::Svg& svg, double bottom) const;
  void draw(tools::Svg& svg, std::size_t rank, double y) const;
  void draw_mark(tools::Svg& svg, const Mark& mark, double y) const;
  [[nodiscard]] double place_of(std::uint64_t ns) const;
  [[nodiscard]] double axis_start() const;

  std::vector<Row> rows_;
  std::uint64_t begin_ns_ = 0;  // of the first event
  std::uint64_t end_ns_ = 1;    // of the last one
};

}  // namespace run
