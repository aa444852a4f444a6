// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/report.h"

#include <exs/exs.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/common/units.h"

namespace perf {
namespace {

std::string verdict_of(const Measurement& measured) {
  if (!measured.verified) return "-";
  return *measured.verified ? "yes" : "NO";
}

std::string percent(const std::optional<double>& value) {
  return value ? tools::format("%.0f", *value) : "-";
}

// From the due time of each message. Whole round trips, because waiting belongs to neither direction.
void print_due(const Measurement& measured) {
  const tools::Histogram& times = *measured.due_round_trips;
  const auto us = [&times](double share) {
    return us_of(static_cast<double>(times.percentile_ns(share)), 1);
  };
  std::printf(
      "  %s/s wanted, %s/s done; round trip from when each was due, us: p50 %.2f, p99 %.2f, p99.9 %.2f, max "
      "%.1f\n",
      tools::format_count(measured.rate * measured.connections).c_str(),
      tools::format_count(per_second(static_cast<double>(measured.messages), measured.seconds)).c_str(),
      us(0.5), us(0.99), us(0.999), us_of(static_cast<double>(times.max_ns()), 1));
}

// One way, as the row above.
void print_bars(const tools::Histogram& times) {
  constexpr double kWidth = 50;
  const std::vector<tools::Histogram::Bar> bars = times.bars();
  std::uint64_t most = 1;
  for (const auto& bar : bars) most = std::max(most, bar.count);
  std::printf("  one way, us             messages\n");
  for (const auto& bar : bars) {
    const auto width =
        static_cast<int>(std::ceil(kWidth * static_cast<double>(bar.count) / static_cast<double>(most)));
    std::printf("  %9.2f to %9.2f %9llu %.*s\n", one_way_us(bar.from_ns), one_way_us(bar.to_ns),
                static_cast<unsigned long long>(bar.count), width,
                "##################################################");
  }
}

}  // namespace

double us_of(double round_trip_ns, double share) {
  return std::round(round_trip_ns * share) / 1000;
}

Report::Report(const Benchmark& benchmark, const Options& options)
    : benchmark_(benchmark), options_(options) {}

void Report::add(const Measurement& measured) {
  measurements_.push_back(measured);
  if (options_.format != Format::table) return;
  if (!head_printed_) print_head(measured);
  head_printed_ = true;
  is_marked_ |= options_.all_kinds && is_taken_by_default(measured.job);
  print_row(measured);
  if (measured.due_round_trips) print_due(measured);
  if (options_.histogram && measured.round_trips) print_bars(*measured.round_trips);
  std::fflush(stdout);
}

void Report::print(const Job& job, const Interval& interval) const {
  if (options_.format != Format::table) return;
  const double seconds = interval.end_seconds - interval.begin_seconds;
  const auto messages = static_cast<double>(interval.messages);
  std::printf(
      "%8.2f to %8.2f s, %s: %9s messages, %9s/s, %11s", interval.begin_seconds, interval.end_seconds,
      name_of(job.kind), tools::format_count(messages).c_str(),
      tools::format_count(per_second(messages, seconds)).c_str(),
      tools::format_rate(per_second(messages * static_cast<double>(job.size_bytes), seconds)).c_str());
  if (interval.round_trips) {
    const tools::Histogram& times = *interval.round_trips;
    std::printf("; one way, us: p50 %.2f, p99 %.2f, max %.1f", one_way_us(times.percentile_ns(0.5)),
                one_way_us(times.percentile_ns(0.99)), one_way_us(times.max_ns()));
  }
  std::printf("\n");
  std::fflush(stdout);
}

void Report::finish() {
  if (options_.format == Format::json) print_json(benchmark_, options_, measurements_);
  if (options_.format == Format::csv) print_csv(benchmark_, options_, measurements_);
  if (is_marked_) std::printf("* what exs_send does with this size, unless options say otherwise\n");
}

void Report::print_head(const Measurement& measured) {
  std::printf("%s %s: provider %s, wait %s, memory %s, %s%s%s\n", benchmark_.name, exs_version_string(),
              measured.provider.c_str(), name_of(measured.job.wait), name_of(measured.job.memory),
              measured.pinned ? "each end pinned to a core" : "not pinned",
              measured.connections > 1 ? tools::format(", %u connections", measured.connections).c_str() : "",
              measured.job.reverse ? ", the server sends" : "");
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
  const std::string kind =
      std::string(name_of(job.kind)) + (options_.all_kinds && is_taken_by_default(job) ? " *" : "");
  const std::string size = tools::format_size(job.size_bytes);
  const std::string messages = tools::format_count(static_cast<double>(measured.messages));
  const std::string sender = percent(measured.sender_cpu_percent);
  const std::string receiver = percent(measured.receiver_cpu_percent);
  if (measured.round_trips) {
    const tools::Histogram& times = *measured.round_trips;
    std::printf("%-18s %9s %9s %8.2f %8.2f %8.2f %8.2f %8.1f %8.2f %8s %9s %8s\n", kind.c_str(), size.c_str(),
                messages.c_str(), one_way_us(times.min_ns()), one_way_us(times.percentile_ns(0.5)),
                one_way_us(times.percentile_ns(0.99)), one_way_us(times.percentile_ns(0.999)),
                one_way_us(times.max_ns()), us_of(times.mean_ns(), 0.5), sender.c_str(), receiver.c_str(),
                verdict_of(measured).c_str());
  } else {
    std::printf(
        "%-18s %9s %6u %9s %8.2f %11s %11s %8s %9s %8s\n", kind.c_str(), size.c_str(), job.depth,
        messages.c_str(), measured.seconds,
        tools::format_rate(per_second(bytes_of(measured), measured.seconds)).c_str(),
        tools::format_count(per_second(static_cast<double>(measured.messages), measured.seconds)).c_str(),
        sender.c_str(), receiver.c_str(), verdict_of(measured).c_str());
  }
}

}  // namespace perf
