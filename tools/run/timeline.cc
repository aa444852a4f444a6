// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/timeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/common/clock.h"
#include "tools/common/units.h"

namespace run {
namespace {

using tools::Svg;

constexpr double kMarginPx = 20;
constexpr double kTopPx = 70;  // of the first row
constexpr double kRowPx = 26;
constexpr double kAxisPx = 760;
constexpr double kTicks = 8;
constexpr std::size_t kWritingsMax = 512;  // of a rank
constexpr double kNsPerMs = 1e6;
constexpr double kNsPerUs = 1e3;

// 1, 2 or 5 times a power of ten.
double step_of(double length) {
  const double least = length / kTicks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

std::string time_in_words(double ns, double precision_ns) {
  if (precision_ns >= static_cast<double>(tools::kNsPerSecond) / 10)
    return tools::format("%.4g s", ns / static_cast<double>(tools::kNsPerSecond));
  if (precision_ns >= kNsPerMs / 10) return tools::format("%.6g ms", ns / kNsPerMs);
  return tools::format("%.6g us", ns / kNsPerUs);
}

const char* words_of(Timeline::Event event) {
  switch (event) {
    case Timeline::Event::started: return "started";
    case Timeline::Event::joined: return "joined the job";
    case Timeline::Event::met: return "has got the cards of all";
    case Timeline::Event::wrote: return "wrote lines";
    case Timeline::Event::signalled: return "got signal";
    case Timeline::Event::left: return "left the job";
    case Timeline::Event::ended: break;
  }
  return "";
}

std::string label_of(std::size_t rank, const std::string& host) {
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " " + host);
}

// A disc around the place.
std::string disc(double x, double y) {
  return tools::format("M%.1f %.1fa4 4 0 1 0 8 0a4 4 0 1 0 -8 0", x - 4, y);
}

}  // namespace

void Timeline::note(std::size_t rank, Event event, const std::string& words) {
  const std::uint64_t now = exs::monotonic_ns();
  if (begin_ns_ == 0) begin_ns_ = now;
  end_ns_ = std::max(now, begin_ns_ + 1);
  Row& row = rows_[rank];
  row.marks.push_back({now, event, words});
  if (event == Event::wrote && ++row.writings > kWritingsMax) thin_out(row);
}

void Timeline::note_end(std::size_t rank, const std::string& words, bool is_good) {
  note(rank, Event::ended, words);
  rows_[rank].end = words;
  rows_[rank].has_good_end = is_good;
}

// Every other writing goes.
void Timeline::thin_out(Row& row) {
  bool stays = false;
  row.writings = 0;
  const auto goes = [&](const Mark& mark) {
    if (mark.event != Event::wrote) return false;
    stays = !stays;
    row.writings += stays ? 1 : 0;
    return !stays;
  };
  row.marks.erase(std::remove_if(row.marks.begin(), row.marks.end(), goes), row.marks.end());
}

double Timeline::axis_start() const {
  double width = 0;
  for (std::size_t rank = 0; rank < rows_.size(); ++rank)
    width = std::max(width, tools::width_of(label_of(rank, rows_[rank].host)));
  return kMarginPx + width + kMarginPx;
}

double Timeline::place_of(std::uint64_t ns) const {
  return kAxisPx * static_cast<double>(ns - begin_ns_) / static_cast<double>(end_ns_ - begin_ns_);
}

void Timeline::draw_axis(Svg& svg, double bottom) const {
  const double length = static_cast<double>(end_ns_ - begin_ns_);
  const double step = step_of(length);
  const double start = axis_start();
  for (int tick = 0; tick * step <= length; ++tick) {
    const double x = start + kAxisPx * tick * step / length;
    svg.line(x, kTopPx - kRowPx / 2, x, bottom, "grid");
    svg.text(x, kTopPx - kRowPx / 2 - 4, time_in_words(tick * step, step), "quiet middle");
  }
}

void Timeline::draw(Svg& svg, std::size_t rank, double y) const {
  const Row& row = rows_[rank];
  const double start = axis_start();
  svg.text(kMarginPx, y + 4, label_of(rank, row.host), "strong");
  if (row.marks.empty()) return;
  const auto time_of = [&](Event event, std::uint64_t otherwise) {
    const auto found = std::find_if(row.marks.begin(), row.marks.end(),
                                    [event](const Mark& mark) { return mark.event == event; });
    return found == row.marks.end() ? otherwise : found->ns;
  };
  const std::uint64_t end = time_of(Event::ended, end_ns_);
  const std::uint64_t joined = std::min(time_of(Event::joined, end), end);
  svg.line(start + place_of(row.marks.front().ns), y, start + place_of(joined), y, "wait");
  svg.explain(label_of(rank, row.host) + ": not in the job");
  if (joined < end) {
    const std::uint64_t left = std::min(time_of(Event::left, end), end);
    svg.line(start + place_of(joined), y, start + place_of(left), y, "life");
    svg.explain(label_of(rank, row.host) + ": in the job");
    svg.line(start + place_of(left), y, start + place_of(end), y, "wait");
    svg.explain(label_of(rank, row.host) + ": has left the job");
  }
  for (const Mark& mark : row.marks) draw_mark(svg, mark, y);
  svg.text(start + kAxisPx + kMarginPx, y + 4, row.end, row.has_good_end ? "quiet" : "warn");
}

void Timeline::draw_mark(Svg& svg, const Mark& mark, double y) const {
  const double x = axis_start() + place_of(mark.ns);
  switch (mark.event) {
    case Event::started: return;
    case Event::wrote: svg.path(tools::format("M%.1f %.1fv-7h1.5v7z", x, y - 4), "mark"); break;
    case Event::met: svg.path(disc(x, y), "mark"); break;
    case Event::signalled: svg.path(tools::format("M%.1f %.1fl5 8h-10z", x, y + 3), "bad"); break;
    default: svg.path(tools::format("M%.1f %.1fv14h2v-14z", x - 1, y - 7), "mark");
  }
  const double ns = static_cast<double>(mark.ns - begin_ns_);
  const std::string what = words_of(mark.event);
  svg.explain(time_in_words(ns, ns / 100) + ": " + what + (what.empty() || mark.words.empty() ? "" : " ") +
              mark.words);
}

std::string Timeline::drawing(const std::string& title) const {
  Svg svg;
  const double bottom = kTopPx + kRowPx * static_cast<double>(rows_.size());
  svg.text(kMarginPx, 30, title, "strong");
  draw_axis(svg, bottom - kRowPx / 2);
  for (std::size_t rank = 0; rank < rows_.size(); ++rank)
    draw(svg, rank, kTopPx + kRowPx * static_cast<double>(rank));
  double y = bottom + Svg::kLinePx;
  for (const char* const line :
       {"grey: started, not in the job or no longer; blue: in the job",
        "dot: has the cards of all; small line: "
        "lines of output; triangle: a signal of exs-run; line across: joined, left, ended"}) {
    svg.text(kMarginPx, y, line, "quiet");
    y += Svg::kLinePx;
  }
  return svg.finish(title);
}

}  // namespace run
