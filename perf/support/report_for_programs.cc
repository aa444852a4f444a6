// The results as JSON and as comma-separated values, which are the same objects made flat.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "perf/support/report.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"

namespace perf {
namespace {

using tools::Json;

double to_tenths(double value) {
  return std::round(value * 10) / 10;
}

std::optional<double> to_tenths(const std::optional<double>& value) {
  return value ? std::optional(to_tenths(*value)) : std::nullopt;
}

Json::Object latencies(const tools::Histogram& round_trips, double share) {
  const auto us = [share](std::uint64_t ns) { return us_of(static_cast<double>(ns), share); };
  return {{"min", us(round_trips.min_ns())},
          {"p50", us(round_trips.percentile_ns(0.5))},
          {"p90", us(round_trips.percentile_ns(0.9))},
          {"p99", us(round_trips.percentile_ns(0.99))},
          {"p999", us(round_trips.percentile_ns(0.999))},
          {"max", us(round_trips.max_ns())},
          {"mean", us_of(round_trips.mean_ns(), share)}};
}

// One way, as "one_way_us".
Json::Array bars_of(const tools::Histogram& round_trips) {
  Json::Array bars;
  for (const auto& bar : round_trips.bars())
    bars.emplace_back(Json::Array{one_way_us(bar.from_ns), one_way_us(bar.to_ns), bar.count});
  return bars;
}

Json::Array array_of(const std::vector<Interval>& intervals) {
  Json::Array out;
  for (const Interval& interval : intervals) {
    Json::Object object{{"begin_seconds", interval.begin_seconds},
                        {"end_seconds", interval.end_seconds},
                        {"messages", interval.messages}};
    if (interval.round_trips) object.emplace_back("one_way_us", latencies(*interval.round_trips, 0.5));
    out.emplace_back(std::move(object));
  }
  return out;
}

void add_times(Json::Object& out, const Options& options, const Measurement& measured) {
  const char* whole = traits_of(measured.job.kind).round_trip_key;
  if (whole != nullptr) out.emplace_back(whole, latencies(*measured.round_trips, 1));
  out.emplace_back("one_way_us", latencies(*measured.round_trips, 0.5));
  if (measured.due_round_trips)
    out.emplace_back("due_round_trip_us", latencies(*measured.due_round_trips, 1));
  if (options.histogram) out.emplace_back("one_way_us_histogram", bars_of(*measured.round_trips));
}

Json::Object object_of(const Benchmark& benchmark, const Options& options, const Measurement& measured) {
  const Job& job = measured.job;
  Json::Object out = tools::begin_results(benchmark.name);
  const Json::Object rest{{"provider", measured.provider},
                          {"kind", name_of(job.kind)},
                          {"sent_by_default", is_taken_by_default(job)},
                          {"wait", name_of(job.wait)},
                          {"memory", name_of(job.memory)},
                          {"pinned", measured.pinned},
                          {"size_bytes", job.size_bytes},
                          {"depth", job.depth},
                          {"connections", measured.connections},
                          {"reverse", job.reverse},
                          {"messages", measured.messages},
                          {"seconds", measured.seconds},
                          {"bytes_per_second", std::round(per_second(bytes_of(measured), measured.seconds))},
                          {"messages_per_second",
                           to_tenths(per_second(static_cast<double>(measured.messages), measured.seconds))}};
  out.insert(out.end(), rest.begin(), rest.end());
  if (measured.rate > 0) out.emplace_back("wanted_per_second", measured.rate * measured.connections);
  if (measured.round_trips) add_times(out, options, measured);
  out.emplace_back("sender_cpu_percent", to_tenths(measured.sender_cpu_percent));
  out.emplace_back("receiver_cpu_percent", to_tenths(measured.receiver_cpu_percent));
  out.emplace_back("verified", measured.verified);
  out.emplace_back("error", measured.broken.empty() ? Json() : Json(measured.broken));
  if (!measured.intervals.empty()) out.emplace_back("intervals", array_of(measured.intervals));
  return out;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char letter : text) out += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return out + "\"";
}

struct CellOf {
  std::string operator()(std::nullptr_t) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return tools::format("%.12g", value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const Json::Array&) const { return ""; }
  std::string operator()(const Json::Object&) const { return ""; }
};

using Row = std::vector<std::pair<std::string, std::string>>;  // names and cells

void add_cells(Row& row, const std::string& prefix, const Json::Object& object) {
  for (const auto& [name, value] : object) {
    if (const auto* inner = std::get_if<Json::Object>(&value.value())) {
      add_cells(row, prefix + name + "_", *inner);
    } else if (!std::holds_alternative<Json::Array>(value.value())) {
      row.emplace_back(prefix + name, std::visit(CellOf(), value.value()));
    }
  }
}

void print_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (&cell == cells.data() ? "" : ",") + cell;
  std::puts(line.c_str());
}

}  // namespace

void print_json(const Benchmark& benchmark, const Options& options,
                const std::vector<Measurement>& measurements) {
  Json::Array results;
  for (const Measurement& measured : measurements)
    results.emplace_back(object_of(benchmark, options, measured));
  if (!options.sweep && !options.all_kinds) {
    for (const Json& result : results) tools::print_json(result);
    return;
  }
  Json::Object all = tools::begin_results(benchmark.name);
  all.emplace_back(options.sweep ? "sweep" : "kinds", std::move(results));
  tools::print_json(all);
}

void print_csv(const Benchmark& benchmark, const Options& options,
               const std::vector<Measurement>& measurements) {
  std::vector<Row> rows;
  std::vector<std::string> names;  // of all rows: a kind may have columns of its own
  for (const Measurement& measured : measurements) {
    Row& row = rows.emplace_back();
    add_cells(row, "", object_of(benchmark, options, measured));
    for (const auto& [name, cell] : row) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  if (!rows.empty()) print_line(names);
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(row, name, &Row::value_type::first);
      cells.push_back(found == row.end() ? "" : found->second);
    }
    print_line(cells);
  }
}

}  // namespace perf
