// Drawings as SVG in one file of their own, with colours for light and for dark pages. Letters are printable ASCII of a fixed width, so
// their widths are known.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Classes of text and shapes.
//   text: "" plain, "quiet", "strong", "warn", with "end" right-aligned or "middle" centred
//   lines: "ring", "tcp" (dashed), "mixed" (long dashes), "grid", "life", "wait"; boxes: "box"; marks: "mark", "bad"
class Svg {
 public:
  static constexpr double kLetterPx = 7.3;  // at least as wide as a letter
  static constexpr double kLinePx = 17;

  // `y` is the base line of the text. Letters that are not printable become "?".
  void text(double x, double y, std::string_view words, std::string_view classes = "");
  void box(double x, double y, double width, double height, std::string_view classes = "box");
  // A shape, by the language of SVG paths.
  void path(const std::string& steps, std::string_view classes);
  void line(double from_x, double from_y, double to_x, double to_y, std::string_view classes);
  // What a viewer shows of the shape drawn last when it is pointed at.
  void explain(std::string_view words);
  // The whole file, with a margin around what was drawn.
  [[nodiscard]] std::string finish(std::string_view title) const;

 private:
  void reach(double x, double y);

  std::string shapes_;
  double width_ = 0;
  double height_ = 0;
};

double width_of(std::string_view words);

// Breaks the words into lines of at most so many letters; one longer word is a line of its own.
std::vector<std::string> lines_of(std::string_view words, std::size_t letters);

// Writes the text to the file, or to the standard output if the name is "-". Throws Failure.
void write_file(const std::string& name, const std::string& text);

}  // namespace tools
