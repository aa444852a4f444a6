// A client that violates the control exchange: it sends one malformed request on each of several connections and prints the server's
// response. It ends with 0 if the server refused every one in an orderly way. With a second argument it sends one request, of a kind that
// exs-ping does not have.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstdio>
#include <vector>

#include "perf/support/channel.h"
#include "perf/support/control.h"
#include "tools/common/failure.h"

namespace {

using perf::Verdict;

struct Case {
  const char* what;
  std::vector<std::byte> message;
  Verdict expected;
};

std::vector<std::byte> request_with(std::size_t offset, std::byte value) {
  perf::Job job;
  job.size_bytes = 64;
  const auto request = perf::encode_request({job, {}});
  std::vector<std::byte> message(request.begin(), request.end());
  message[offset] = value;
  return message;
}

std::vector<std::byte> request_of_length(std::size_t length) {
  std::vector<std::byte> message = request_with(0, std::byte{'e'});
  message.resize(length);
  return message;
}

std::vector<Case> cases() {
  return {{"an empty message", {}, Verdict::malformed},
          {"one byte", {std::byte{1}}, Verdict::malformed},
          {"half a request", request_of_length(16), Verdict::malformed},
          {"a longer request", request_of_length(64), Verdict::malformed},
          {"zeros", std::vector<std::byte>(perf::kRequestBytes), Verdict::malformed},
          {"another magic", request_with(0, std::byte{'x'}), Verdict::malformed},
          {"another version", request_with(5, std::byte{9}), Verdict::other_version},
          {"another tool", request_with(6, std::byte{7}), Verdict::other_benchmark},
          {"an unknown kind", request_with(7, std::byte{9}), Verdict::malformed},
          {"an unknown wait mode", request_with(8, std::byte{3}), Verdict::malformed},
          {"an unknown flag", request_with(11, std::byte{8}), Verdict::malformed},
          {"depth 0", request_with(15, std::byte{0}), Verdict::malformed},
          {"depth 2^24", request_with(12, std::byte{1}), Verdict::malformed},
          {"size 2^56", request_with(24, std::byte{1}), Verdict::malformed},
          {"size 0", request_with(31, std::byte{0}), Verdict::malformed}};
}

bool refused(const Case& tried, std::uint16_t port) {
  perf::Queue queue(perf::kEventBatch, perf::Wait::adaptive);
  perf::Channel channel(perf::connect_to("127.0.0.1", port, perf::client_options("auto", {}), queue), queue);
  channel.send_control(tried.message);
  const Verdict verdict = perf::decode_answer(channel.receive_control("no answer")).verdict;
  std::printf("%s: %s\n", tried.what, perf::sentence_of(verdict).c_str());
  return verdict == tried.expected;
}

// A valid request, but of a kind that a ping server does not have.
Case other_kind() {
  perf::Job job;
  job.benchmark = perf::BenchmarkId::ping;
  job.kind = perf::Kind::transaction;
  job.size_bytes = 64;
  const auto request = perf::encode_request({job, {}});
  return {"a kind of the other tool", {request.begin(), request.end()}, Verdict::other_kind};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  const perf::Library library;
  const auto port = static_cast<std::uint16_t>(std::stoi(argv[1]));
  if (argc == 3) return refused(other_kind(), port) ? 0 : 1;
  const std::vector<Case> all = cases();
  const bool all_refused =
      std::all_of(all.begin(), all.end(), [&](const Case& tried) { return refused(tried, port); });
  // The last one sends nothing at all.
  perf::Queue queue(perf::kEventBatch, perf::Wait::adaptive);
  perf::connect_to("127.0.0.1", port, perf::client_options("auto", {}), queue).close();
  return all_refused ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "foreign client: %s\n", error.what());
  return 1;
}
