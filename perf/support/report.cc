#include "perf/support/report.h"

#include <exs/exs.h>

#include <cmath>
#include <cstdio>

#include "tools/common/json.h"
#include "tools/common/units.h"

namespace perf {
namespace {

using tools::Json;

double to_tenths(double value) {
  return std::round(value * 10) / 10;
}

double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

double bytes_of(const Measurement& measured) {
  return static_cast<double>(measured.messages) * static_cast<double>(measured.job.size_bytes);
}

// A share of a round trip, to the nanosecond.
double us_of(double round_trip_ns, double share) {
  return std::round(round_trip_ns * share) / 1000;
}
double one_way_us(double round_trip_ns) {
  return us_of(round_trip_ns, 0.5);
}
double one_way_us(std::uint64_t round_trip_ns) {
  return one_way_us(static_cast<double>(round_trip_ns));
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

Json::Object object_of(const Benchmark& benchmark, const Measurement& measured) {
  const Job& job = measured.job;
  Json::Object out{
      {"tool", benchmark.name},        {"version", exs_version_string()}, {"provider", measured.provider},
      {"kind", name_of(job.kind)},     {"wait", name_of(job.wait)},       {"memory", name_of(job.memory)},
      {"pinned", measured.pinned},     {"size_bytes", job.size_bytes},    {"depth", job.depth},
      {"messages", measured.messages}, {"seconds", measured.seconds}};
  out.emplace_back("bytes_per_second", std::round(per_second(bytes_of(measured), measured.seconds)));
  out.emplace_back("messages_per_second",
                   to_tenths(per_second(static_cast<double>(measured.messages), measured.seconds)));
  if (measured.round_trips) {
    const char* whole = traits_of(job.kind).round_trip_key;
    if (whole != nullptr) out.emplace_back(whole, latencies(*measured.round_trips, 1));
    out.emplace_back("one_way_us", latencies(*measured.round_trips, 0.5));
  }
  out.emplace_back("sender_cpu_percent", to_tenths(measured.sender_cpu_percent));
  out.emplace_back("receiver_cpu_percent", to_tenths(measured.receiver_cpu_percent));
  out.emplace_back("verified", measured.verified);
  return out;
}

std::string verdict_of(const Measurement& measured) {
  if (!measured.verified) return "-";
  return *measured.verified ? "yes" : "NO";
}

}  // namespace

Report::Report(const Benchmark& benchmark, bool json, bool sweep)
    : benchmark_(benchmark), json_(json), sweep_(sweep) {}

void Report::add(const Measurement& measured) {
  measurements_.push_back(measured);
  if (json_) return;
  if (!head_printed_) print_head(measured);
  head_printed_ = true;
  print_row(measured);
}

void Report::finish() {
  if (!json_) return;
  Json::Array results;
  for (const Measurement& measured : measurements_) results.emplace_back(object_of(benchmark_, measured));
  if (sweep_) {
    tools::print_json(
        Json::Object{{"tool", benchmark_.name}, {"version", exs_version_string()}, {"sweep", results}});
    return;
  }
  for (const Json& result : results) tools::print_json(result);
}

void Report::print_head(const Measurement& measured) {
  std::printf("%s %s: provider %s, wait %s, memory %s, %s\n", benchmark_.name, exs_version_string(),
              measured.provider.c_str(), name_of(measured.job.wait), name_of(measured.job.memory),
              measured.pinned ? "each end pinned to a core" : "not pinned");
  if (measured.round_trips) {
    std::printf("%-18s %9s %9s %53s %8s %9s\n", "", "", "", "one way, us                    ", "sender",
                "receiver");
    std::printf("%-18s %9s %9s %8s %8s %8s %8s %8s %8s %8s %9s %8s\n", "kind", "size", "messages", "min",
                "p50", "p99", "p99.9", "max", "mean", "CPU %", "CPU %", "verified");
  } else {
    std::printf("%-76s %10s %9s\n", "", "sender", "receiver");
    std::printf("%-18s %9s %6s %9s %8s %11s %11s %8s %9s %8s\n", "kind", "size", "depth", "messages",
                "seconds", "throughput", "messages/s", "CPU %", "CPU %", "verified");
  }
}

void Report::print_row(const Measurement& measured) const {
  const Job& job = measured.job;
  const std::string size = tools::format_size(job.size_bytes);
  const std::string messages = tools::format_count(static_cast<double>(measured.messages));
  if (measured.round_trips) {
    const tools::Histogram& times = *measured.round_trips;
    std::printf("%-18s %9s %9s %8.2f %8.2f %8.2f %8.2f %8.1f %8.2f %8.0f %9.0f %8s\n", name_of(job.kind),
                size.c_str(), messages.c_str(), one_way_us(times.min_ns()),
                one_way_us(times.percentile_ns(0.5)), one_way_us(times.percentile_ns(0.99)),
                one_way_us(times.percentile_ns(0.999)), one_way_us(times.max_ns()),
                one_way_us(times.mean_ns()), measured.sender_cpu_percent, measured.receiver_cpu_percent,
                verdict_of(measured).c_str());
  } else {
    std::printf(
        "%-18s %9s %6u %9s %8.2f %11s %11s %8.0f %9.0f %8s\n", name_of(job.kind), size.c_str(), job.depth,
        messages.c_str(), measured.seconds,
        tools::format_rate(per_second(bytes_of(measured), measured.seconds)).c_str(),
        tools::format_count(per_second(static_cast<double>(measured.messages), measured.seconds)).c_str(),
        measured.sender_cpu_percent, measured.receiver_cpu_percent, verdict_of(measured).c_str());
  }
  std::fflush(stdout);
}

}  // namespace perf
