// Checks the parts of the tools that figures depend on: percentiles, the byte pattern, sizes, control messages.
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "perf/ping/rounds.h"
#include "perf/support/control.h"
#include "tools/common/failure.h"
#include "tools/common/histogram.h"
#include "tools/common/pattern.h"
#include "tools/common/units.h"

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what.c_str());
  ++failures;
}

bool close_to(std::uint64_t value, double right) {
  return std::abs(static_cast<double>(value) - right) <= 0.004 * right + 1;
}

void percentiles_are_within_half_a_percent() {
  for (const std::uint64_t unit : {std::uint64_t{1}, std::uint64_t{37}, std::uint64_t{1'000'003}}) {
    tools::Histogram histogram;
    for (std::uint64_t i = 1; i <= 10000; ++i) histogram.record(i * unit);
    const auto scale = static_cast<double>(unit);
    expect(close_to(histogram.percentile_ns(0.5), 5000 * scale), "median");
    expect(close_to(histogram.percentile_ns(0.99), 9900 * scale), "p99");
    expect(close_to(histogram.percentile_ns(0.999), 9990 * scale), "p999");
    expect(histogram.min_ns() == unit && histogram.max_ns() == 10000 * unit, "extremes are exact");
    expect(close_to(static_cast<std::uint64_t>(histogram.mean_ns()), 5000.5 * scale), "mean");
  }
  tools::Histogram largest;
  largest.record(UINT64_MAX);
  largest.record(0);
  expect(close_to(largest.percentile_ns(1), 0x1p64) && largest.percentile_ns(0.5) == 0,
         "the whole range of 64 bits fits");
  expect(tools::Histogram().percentile_ns(0.5) == 0, "no samples");
}

void histograms_add_up() {
  tools::Histogram early;
  for (const std::uint64_t value : {10U, 1000U, 5000U}) early.record(value);
  tools::Histogram all = early;
  for (const std::uint64_t value : {700U, 800U, 900'000U}) all.record(value);
  const tools::Histogram late = all.since(early);
  expect(late.count() == 3 && close_to(late.min_ns(), 700) && close_to(late.max_ns(), 900'000) &&
             close_to(static_cast<std::uint64_t>(late.mean_ns()), 300'500),
         "what came since");
  early.add(late);
  expect(early.count() == 6 && early.min_ns() == 10 && early.percentile_ns(0.5) == all.percentile_ns(0.5),
         "a sum");
  std::uint64_t count = 0;
  const auto bars = all.bars();
  for (std::size_t i = 0; i < bars.size(); ++i) {
    count += bars[i].count;
    expect(bars[i].from_ns < bars[i].to_ns && (i == 0 || bars[i].from_ns == bars[i - 1].to_ns), "bars join");
  }
  expect(count == 6 && bars.front().from_ns <= 10 && bars.back().to_ns > 900'000, "bars hold all");
  expect(bars.front().count > 0 && bars.back().count > 0, "no bars before and behind");
  expect(tools::Histogram().bars().empty(), "nothing to draw");
}

// One of twenty messages takes fifty milliseconds, with one due every millisecond, so those behind it are late.
void an_open_loop_tells_what_a_pause_delays() {
  constexpr std::uint64_t kPauseNs = 50'000'000;
  perf::Limit limit;
  limit.count = 20;
  limit.rate = 1000;
  perf::Progress silent;
  const perf::Job job;
  const perf::Driven driven = ping::Rounds(job, limit, silent).run([](std::uint64_t n) {
    const std::uint64_t start_ns = exs::monotonic_ns();
    while (n == 4 && exs::monotonic_ns() - start_ns < kPauseNs) continue;
    return ping::RoundTrip{start_ns, exs::monotonic_ns()};
  });
  expect(driven.messages == 20 && driven.due_round_trips->count() == 20, "all are sent");
  expect(driven.round_trips->max_ns() >= kPauseNs && driven.due_round_trips->max_ns() >= kPauseNs,
         "the pause");
  // The last message was due 15 ms after the one with the pause.
  expect(driven.due_round_trips->percentile_ns(0.25) >= kPauseNs - 15'000'000 - 1'000'000, "those behind it");
}

void every_flipped_bit_is_found() {
  for (const std::size_t length : {1U, 7U, 8U, 9U, 64U, 1000U}) {
    std::vector<std::byte> message(length);
    tools::fill_pattern(message, 42);
    expect(!tools::first_wrong_byte(message, 42), "an intact message is right");
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      message[bit / 8] ^= std::byte{1} << (bit % 8);
      expect(tools::first_wrong_byte(message, 42) == bit / 8, "flipped bit " + std::to_string(bit));
      message[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

void neighbours_have_other_bytes() {
  std::vector<std::byte> message(4096);
  tools::fill_pattern(message, 7);
  expect(tools::first_wrong_byte(message, 8).has_value(), "the next message");
  expect(tools::first_wrong_byte(message, 6).has_value(), "the previous message");
  expect(tools::first_wrong_byte(std::span(message).subspan(8), 7).has_value(), "shifted by a word");
}

template <typename Exception, typename Function>
bool throws(Function function) {
  try {
    function();
  } catch (const Exception&) {
    return true;
  }
  return false;
}

void sizes_are_read_and_written() {
  expect(tools::parse_size("64") == 64 && tools::parse_size("64K") == 65536 &&
             tools::parse_size("1M") == 1048576,
         "sizes");
  expect(tools::parse_size("2g") == 2147483648 && tools::parse_size("4KiB") == 4096, "other spellings");
  for (const char* word : {"", "K", "1Q", "-1", "1.5K", "99999999999G", "12KK"}) {
    expect(throws<tools::UsageError>([&] { tools::parse_size(word); }), "no size: " + std::string(word));
  }
  expect(tools::format_size(1) == "1 B" && tools::format_size(65536) == "64 KiB" &&
             tools::format_size(1500) == "1500 B",
         "text");
  expect(tools::format_rate(4.213e9) == "4.21 GB/s" && tools::format_rate(999.9e6) == "1.00 GB/s", "rates");
}

void control_messages_survive_the_wire() {
  perf::Request request;
  perf::Job& job = request.job;
  job.benchmark = perf::BenchmarkId::blast;
  job.reverse = true;
  job.more = true;
  job.kind = perf::Kind::immediate;
  job.wait = perf::Wait::busy;
  job.memory = perf::MemoryKind::alloc;
  job.verify = true;
  job.warmup_messages = 1000;
  job.size_bytes = 30000;
  request.limit.count = 77;
  request.limit.time_ns = 88;
  perf::Request decoded;
  expect(perf::decode_request(perf::encode_request(request), perf::BenchmarkId::blast, decoded) ==
             perf::Verdict::accepted,
         "request");
  expect(perf::encode_request(decoded) == perf::encode_request(request), "all fields of a request");
  expect(decoded.job.reverse && decoded.job.more && !decoded.job.nodelay && decoded.limit.count == 77 &&
             decoded.limit.time_ns == 88,
         "flags and limits");
  job.kind = perf::Kind::persistent;
  expect(perf::decode_request(perf::encode_request(request), perf::BenchmarkId::blast, decoded) ==
             perf::Verdict::malformed,
         "a kind that has no reverse");
  const perf::Answer answer =
      perf::decode_answer(perf::encode_answer({.verdict = perf::Verdict::connect, .port = 7471}));
  expect(answer.verdict == perf::Verdict::connect && answer.port == 7471, "answer");
  perf::PeerResults results{1, 2, 3, 4, 5, 6, 7};
  const perf::PeerResults back = perf::decode_results(perf::encode_results(results));
  expect(back.messages == 1 && back.cpu_ns == 3 && back.first_wrong_offset == 7, "results");
  expect(throws<tools::Failure>([] { perf::decode_results({}); }), "no results");
  expect(throws<tools::Failure>([] { perf::decode_answer({}); }), "no answer");
}

}  // namespace

int main() {
  percentiles_are_within_half_a_percent();
  histograms_add_up();
  an_open_loop_tells_what_a_pause_delays();
  every_flipped_bit_is_found();
  neighbours_have_other_bytes();
  sizes_are_read_and_written();
  control_messages_survive_the_wire();
  return failures == 0 ? 0 : 1;
}
