// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/svg.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace tools {
namespace {

constexpr double kMarginPx = 20;

constexpr char kStyle[] = R"(<style>
svg { --page: #ffffff; --text: #1d2329; --quiet: #59636e; --line: #d5dbe1; --box: #f4f6f8; --ring: #0a58b4; --tcp: #b4490a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  svg { --page: #14181c; --text: #d9dfe5; --quiet: #98a3ae; --line: #363f48; --box: #1e242a; --ring: #7db4f5; --tcp: #f0a26e; --bad: #f28b82; }
}
text { font: 12px "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace; fill: var(--text); white-space: pre; }
.quiet { fill: var(--quiet); }
.strong { font-weight: 700; }
.warn { fill: var(--tcp); }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
path { fill: none; stroke-width: 2; }
.page { fill: var(--page); stroke: none; }
.box { fill: var(--box); stroke: var(--line); }
.ring, .life { stroke: var(--ring); }
.tcp { stroke: var(--tcp); stroke-dasharray: 3 4; }
.mixed { stroke: var(--ring); stroke-dasharray: 12 4; }
.life { stroke-width: 6; }
.wait { stroke: var(--line); stroke-width: 6; }
.grid { stroke: var(--line); stroke-width: 1; }
.mark { stroke: none; fill: var(--text); }
.bad { stroke: none; fill: var(--bad); }
</style>
)";

std::string escaped(std::string_view words) {
  std::string out;
  for (const char letter : words) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter >= ' ' && letter <= '~' ? letter : '?';
    }
  }
  return out;
}

std::string class_of(std::string_view classes) {
  return classes.empty() ? "" : " class=\"" + std::string(classes) + "\"";
}

}  // namespace

double width_of(std::string_view words) {
  return Svg::kLetterPx * static_cast<double>(words.size());
}

std::vector<std::string> lines_of(std::string_view words, std::size_t letters) {
  std::vector<std::string> lines;
  while (words.size() > letters) {
    std::size_t end = words.rfind(' ', letters);
    if (end == std::string_view::npos) end = std::min(words.find(' '), words.size());
    lines.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  if (!words.empty()) lines.emplace_back(words);
  return lines;
}

void Svg::reach(double x, double y) {
  width_ = std::max(width_, x);
  height_ = std::max(height_, y);
}

void Svg::text(double x, double y, std::string_view words, std::string_view classes) {
  shapes_ +=
      format("<text x=\"%.1f\" y=\"%.1f\"", x, y) + class_of(classes) + ">" + escaped(words) + "</text>\n";
  const bool ends_here = classes.find("end") != std::string_view::npos;
  const bool is_middle = classes.find("middle") != std::string_view::npos;
  reach(ends_here ? x : x + width_of(words) / (is_middle ? 2 : 1), y);
}

void Svg::box(double x, double y, double width, double height, std::string_view classes) {
  shapes_ += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"%s/>\n", x, y, width,
                    height, class_of(classes).c_str());
  reach(x + width, y + height);
}

void Svg::path(const std::string& steps, std::string_view classes) {
  shapes_ += "<path d=\"" + steps + "\"" + class_of(classes) + "/>\n";
}

void Svg::line(double from_x, double from_y, double to_x, double to_y, std::string_view classes) {
  path(format("M%.1f %.1fL%.1f %.1f", from_x, from_y, to_x, to_y), classes);
  reach(std::max(from_x, to_x), std::max(from_y, to_y));
}

void Svg::explain(std::string_view words) {
  const std::size_t start = shapes_.rfind('<', shapes_.size());
  shapes_.replace(shapes_.rfind("/>"), 2, ">");
  const std::string name = shapes_.substr(start + 1, shapes_.find(' ', start) - start - 1);
  shapes_.insert(shapes_.size() - 1, "<title>" + escaped(words) + "</title></" + name + ">");
}

std::string Svg::finish(std::string_view title) const {
  const double width = width_ + kMarginPx;
  const double height = height_ + kMarginPx;
  const std::string size =
      format("width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\"", width, height, width, height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " role=\"img\">\n<title>" + escaped(title) +
         "</title>\n" + kStyle + "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" + shapes_ +
         "</svg>\n";
}

void write_file(const std::string& name, const std::string& text) {
  const auto close = [](std::FILE* file) { return file == stdout ? std::fflush(file) : std::fclose(file); };
  std::FILE* const file = name == "-" ? stdout : std::fopen(name.c_str(), "we");
  if (file == nullptr) fail("cannot write " + name, errno);
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (const int error = errno; close(file) != 0 || !is_whole)
    fail("cannot write " + name, is_whole ? errno : error);
}

}  // namespace tools
