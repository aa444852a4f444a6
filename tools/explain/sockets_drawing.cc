// The map as SVG. Each pair has a row of its own beside its left end. Its line bends only right of all labels, on its way to the right
// end, so no text lies on another or on a line.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <map>
#include <utility>

#include "tools/common/svg.h"
#include "tools/common/units.h"
#include "tools/explain/sockets_map.h"

namespace explain {
namespace {

using tools::Svg;

constexpr double kTopPx = 60;
constexpr double kLeftPx = 20;
constexpr double kRowPx = 46;
constexpr double kGapPx = 12;   // between boxes
constexpr double kPortPx = 18;  // between lines that reach the same box
constexpr double kPadPx = 10;   // of the words in a box
constexpr double kBendPx = 160;
constexpr std::size_t kNoteLetters = 100;

struct Right {
  std::vector<std::size_t> rows;
  double middle = 0;  // of the rows
  double top = 0;
  [[nodiscard]] double height() const {
    return kPortPx * static_cast<double>(rows.size()) + kPortPx - kGapPx / 2;
  }
};

double middle_of(std::size_t row) {
  return kTopPx + kRowPx * (static_cast<double>(row) + 0.5);
}

std::string bytes_of(const Traffic& traffic) {
  const auto told = [](const std::optional<std::uint64_t>& count) {
    if (!count) return std::string("unknown");
    if (*count < 1000) return std::to_string(*count) + " B";
    return tools::format_count(static_cast<double>(*count)) + "B";
  };
  if (!traffic.ring_bytes && !traffic.tcp_bytes) return traffic.way;
  return told(traffic.ring_bytes) + " ring, " + told(traffic.tcp_bytes) + " tcp";
}

std::string label_of(const Pair& pair) {
  const std::string many = pair.connections > 1 ? std::to_string(pair.connections) + " x  " : "";
  return many + "> " + bytes_of(pair.there) + "  < " + bytes_of(pair.back);
}

std::string reasons_of(const Pair& pair) {
  std::string text = pair.there.reason.empty() ? "" : "> " + pair.there.reason;
  if (!pair.back.reason.empty()) text += (text.empty() ? "< " : "  < ") + pair.back.reason;
  return text;
}

const char* line_of(const Pair& pair) {
  if (pair.there.way != pair.back.way) return "mixed";
  return pair.there.way == "ring" ? "ring" : "tcp";
}

// Right ends in the order of their rows, so that few lines cross.
std::vector<std::pair<std::string, Right>> rights_of(const std::vector<Pair>& pairs) {
  std::map<std::string, Right> found;
  for (std::size_t row = 0; row < pairs.size(); ++row) found[pairs[row].right].rows.push_back(row);
  std::vector<std::pair<std::string, Right>> rights(found.begin(), found.end());
  for (auto& [name, right] : rights) {
    for (const std::size_t row : right.rows)
      right.middle += middle_of(row) / static_cast<double>(right.rows.size());
  }
  std::stable_sort(rights.begin(), rights.end(),
                   [](const auto& a, const auto& b) { return a.second.middle < b.second.middle; });
  double free = kTopPx;
  for (auto& [name, right] : rights) {
    right.top = std::max(free, right.middle - right.height() / 2);
    free = right.top + right.height() + kGapPx;
  }
  return rights;
}

template <typename Words>
double widest(const std::vector<Pair>& pairs, Words words) {
  double width = 0;
  for (const Pair& pair : pairs) width = std::max(width, tools::width_of(words(pair)));
  return width;
}

class Drawing {
 public:
  explicit Drawing(const SocketsMap& map)
      : map_(map),
        left_end_(kLeftPx + widest(map.pairs, [](const Pair& pair) { return pair.left; }) + 2 * kPadPx),
        label_end_(left_end_ + 3 * kPadPx +
                   std::max(widest(map.pairs, label_of), widest(map.pairs, reasons_of))),
        right_start_(label_end_ + kBendPx) {}

  std::string finish() {
    const std::string title =
        std::to_string(map_.connections) + " TCP connections of programs with libexs_sockets.so";
    svg_.text(kLeftPx, 30, title, "strong");
    for (std::size_t row = 0; row < map_.pairs.size();) row = draw_left(row);
    for (std::size_t row = 0; row < map_.pairs.size(); ++row) draw_label(row);
    for (const auto& [name, right] : rights_of(map_.pairs)) draw_right(name, right);
    bottom_ += 2 * kGapPx;
    if (!map_.pairs.empty()) draw_legend();
    for (const auto& notes : {map_.alone, map_.reasons}) {
      for (const std::string& note : notes) draw_note(note);
    }
    return svg_.finish(title);
  }

 private:
  // Returns the row behind those of this end.
  std::size_t draw_left(std::size_t row) {
    const std::string& name = map_.pairs[row].left;
    std::size_t end = row;
    while (end < map_.pairs.size() && map_.pairs[end].left == name) ++end;
    const double top = middle_of(row) - kRowPx / 2 + kGapPx / 2;
    const double height = kRowPx * static_cast<double>(end - row) - kGapPx;
    draw_box(name, kLeftPx, left_end_ - kLeftPx, top, height);
    return end;
  }

  void draw_label(std::size_t row) {
    const Pair& pair = map_.pairs[row];
    svg_.text(left_end_ + kPadPx, middle_of(row) - 6, label_of(pair));
    svg_.text(left_end_ + kPadPx, middle_of(row) + 15, reasons_of(pair), "warn");
  }

  void draw_right(const std::string& name, const Right& right) {
    double port = right.top + kPortPx - kGapPx / 4;
    for (const std::size_t row : right.rows) {
      draw_line(map_.pairs[row], middle_of(row), port);
      port += kPortPx;
    }
    draw_box(name, right_start_, tools::width_of(name) + 2 * kPadPx, right.top, right.height());
  }

  void draw_line(const Pair& pair, double from, double to) {
    const double middle = (label_end_ + right_start_) / 2;
    svg_.path(tools::format("M%.1f %.1fH%.1fC%.1f %.1f %.1f %.1f %.1f %.1f", left_end_, from, label_end_,
                            middle, from, middle, to, right_start_ - 8, to),
              line_of(pair));
    svg_.explain(pair.left + (pair.is_directed ? " > " : " - ") + pair.right);
    if (pair.is_directed)
      svg_.path(tools::format("M%.1f %.1fl-9 -4v8z", right_start_, to), "mark");
    else
      svg_.line(right_start_ - 8, to, right_start_, to, line_of(pair));
  }

  void draw_box(const std::string& name, double x, double width, double top, double height) {
    svg_.box(x, top, width, height);
    svg_.text(x + kPadPx, top + height / 2 + 4, name, "strong");
    bottom_ = std::max(bottom_, top + height);
  }

  void draw_legend() {
    constexpr double kSamplePx = 40;
    double x = kLeftPx;
    bottom_ += Svg::kLinePx;
    for (const auto& [line, words] : {std::pair("ring", "both by ring"), std::pair("tcp", "both by TCP"),
                                      std::pair("mixed", "one way each")}) {
      svg_.line(x, bottom_ - 4, x + kSamplePx, bottom_ - 4, line);
      svg_.text(x + kSamplePx + kPadPx, bottom_, words, "quiet");
      x += kSamplePx + tools::width_of(words) + 3 * kPadPx;
    }
    draw_note("> from left to right, < back. An arrow leads to the end that accepted.");
  }

  void draw_note(const std::string& note) {
    double x = kLeftPx;
    for (const std::string& line : tools::lines_of(note, kNoteLetters)) {
      bottom_ += Svg::kLinePx;
      svg_.text(x, bottom_, line, "quiet");
      x = kLeftPx + 2 * kPadPx;
    }
  }

  const SocketsMap& map_;
  Svg svg_;
  const double left_end_;
  const double label_end_;
  const double right_start_;
  double bottom_ = kTopPx;
};

}  // namespace

std::string drawing_of(const SocketsMap& map) {
  return Drawing(map).finish();
}

}  // namespace explain
