// exs-fetch: gets files over HTTP, by exs or by TCP.
// SPDX-License-Identifier: BSD-2-Clause
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/histogram.h"
#include "tools/common/interrupt.h"
#include "tools/common/json.h"
#include "tools/common/progress_line.h"
#include "tools/common/run_info.h"
#include "tools/fetch/http.h"
#include "tools/fetch/service.h"

namespace fetch {
namespace {

using tools::Json;
using Pieces = std::vector<std::string_view>;

constexpr int kStatusOk = 200;
constexpr int kExitInterrupted = 130;
// The pause between tries while nobody listens. A server that restarts is soon found, and one that does not costs little.
constexpr auto kPause = std::chrono::milliseconds(20);

struct Settings {
  std::vector<std::string> urls;
  Way way;
  std::string output;
  std::string sum;  // expected checksum of the body
  double limit_s = 30;
  double retry_s = 0;
  std::uint32_t warm_up = 0;
  std::uint32_t repeat = 1;
  bool prints_sums = false;
  bool json = false;
};

std::string sha256(const Pieces& pieces) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  for (const std::string_view piece : pieces)
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(piece.data()), piece.size());
  std::array<unsigned char, crypto_hash_sha256_BYTES> sum{};
  crypto_hash_sha256_final(&state, sum.data());
  std::array<char, 2 * sum.size() + 1> text{};
  return sodium_bin2hex(text.data(), text.size(), sum.data(), sum.size());
}

// The results of all fetches of one URL.
struct Fetched {
  Url url;
  std::uint64_t bytes = 0;
  std::string sum;
  tools::Histogram times;
};

class Client {
 public:
  Client(const Settings& settings, const std::vector<Url>& urls) : settings_(settings) {
    for (const Url& url : urls) fetched_.push_back({url, 0, {}, {}});
  }

  // Fetches all URLs in turn, over and over.
  void run() {
    for (std::uint32_t i = 0; i < settings_.warm_up; ++i) {
      for (const Fetched& one : fetched_) get_by_all_means(one.url);
    }
    tools::ProgressLine progress;
    progress.begin("", "rounds", {settings_.repeat, 0});
    watch_.start();
    for (std::uint32_t i = 0; i < settings_.repeat && !tools::interrupted(); ++i) {
      for (Fetched& one : fetched_) fetch(one);
      progress.update(i + 1);
    }
    watch_.stop();
  }

  void report() const {
    if (!settings_.json && !settings_.prints_sums) return;
    if (settings_.json) return report_json();
    for (const Fetched& one : fetched_)
      if (one.times.count() > 0) std::printf("%s  %s\n", one.sum.c_str(), one.url.text().c_str());
  }

 private:
  void fetch(Fetched& one) {
    const std::uint64_t start = exs::monotonic_ns();
    get_by_all_means(one.url);
    one.times.record(exs::monotonic_ns() - start);
    check(one);
    if (!is_written_) write(one.url);
  }

  // GET changes nothing at the server, so it may be repeated when its outcome is unknown.
  void get_by_all_means(const Url& url) {
    const std::uint64_t give_up = exs::monotonic_ns() + tools::ns_of(settings_.retry_s);
    for (;;) {
      try {
        return get(url);
      } catch (const Broken&) {
        connections_.erase(url.server());
        if (exs::monotonic_ns() >= give_up || tools::interrupted()) throw;
        ++retries_;
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  void get(const Url& url) {
    std::unique_ptr<Connection>& connection = connections_[url.server()];
    if (connection == nullptr || !connection->is_open()) connection = connection_to(url);
    answer_ = &connection->get(url);
    provider_ = connection->provider();
    if (answer_->status != kStatusOk)
      throw tools::Failure(url.text() + ": the server says " + std::to_string(answer_->status));
  }

  [[nodiscard]] std::unique_ptr<Connection> connection_to(const Url& url) const {
    if (!url.service.empty()) return std::make_unique<ServicePeer>(url.service, settings_.way);
    return std::make_unique<HttpConnection>(connect(url.host, url.port, settings_.way));
  }

  // Each body must equal the first one, and the expected one.
  void check(Fetched& one) const {
    const bool is_first = one.times.count() == 1;
    one.bytes = 0;
    for (const std::string_view piece : answer_->body) one.bytes += piece.size();
    const bool needs_sum = is_first || !settings_.sum.empty() || settings_.prints_sums;
    if (!needs_sum) return;
    const std::string sum = sha256(answer_->body);
    if (!settings_.sum.empty() && sum != settings_.sum)
      throw tools::Failure(one.url.text() + ": SHA-256 is " + sum + ", not " + settings_.sum);
    if (!is_first && sum != one.sum) throw tools::Failure(one.url.text() + ": it has changed meanwhile");
    one.sum = sum;
  }

  // Writes the bodies of the first round, one after the other.
  void write(const Url& url) {
    if (!settings_.output.empty() && !file_.is_open()) {
      file_.open(settings_.output, std::ios::binary | std::ios::trunc);
      if (!file_) tools::fail(settings_.output, errno);
    }
    for (const std::string_view piece : answer_->body) write(piece);
    is_written_ = &url == &fetched_.back().url;
  }

  void write(std::string_view piece) {
    if (!settings_.output.empty()) {
      file_.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush();
      if (!file_) tools::fail(settings_.output, errno);
    } else if (!settings_.json && !settings_.prints_sums) {
      if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size() || std::fflush(stdout) != 0)
        tools::fail("standard output", errno);
    }
  }

  void report_json() const {
    const auto us = [](std::uint64_t ns) { return std::round(static_cast<double>(ns)) / 1000; };
    Json::Array files;
    std::uint64_t bytes = 0;
    for (const Fetched& one : fetched_) {
      bytes += one.bytes * one.times.count();
      files.emplace_back(Json::Object{{"url", one.url.text()},
                                      {"size_bytes", one.bytes},
                                      {"sha256", one.sum},
                                      {"fetches", one.times.count()},
                                      {"p50_us", us(one.times.percentile_ns(0.5))},
                                      {"p99_us", us(one.times.percentile_ns(0.99))},
                                      {"max_us", us(one.times.max_ns())}});
    }
    const double seconds = tools::seconds_of(watch_.wall_ns());
    Json::Object out = tools::begin_results("exs-fetch");
    out.emplace_back("provider", provider_);
    out.emplace_back("files", std::move(files));
    out.emplace_back("interrupted", tools::interrupted());
    out.emplace_back("retries", retries_);
    out.emplace_back("seconds", seconds);
    out.emplace_back("gigabytes_per_second", static_cast<double>(bytes) / 1e9 / seconds);
    out.emplace_back("cpu_percent", tools::cpu_percent(watch_.cpu_ns(), watch_.wall_ns()));
    tools::print_json(out);
  }

  const Settings& settings_;
  std::vector<Fetched> fetched_;
  std::map<std::string, std::unique_ptr<Connection>> connections_;  // by server
  const Answer* answer_ = nullptr;                                  // of the last request
  std::ofstream file_;
  bool is_written_ = false;
  std::string provider_;
  std::uint64_t retries_ = 0;
  tools::Stopwatch watch_;
};

std::vector<Url> parse_urls(const Settings& settings) {
  std::vector<Url> urls;
  for (const std::string& text : settings.urls) urls.push_back(parse_url(text));
  const auto is_of_service = [](const Url& url) { return !url.service.empty(); };
  if (settings.way.is_tcp && std::any_of(urls.begin(), urls.end(), is_of_service))
    throw tools::UsageError("--tcp: a service does not answer by TCP");
  if (settings.way.is_written && !std::all_of(urls.begin(), urls.end(), is_of_service))
    throw tools::UsageError("--return is for services, exs-svc://NAME/PATH");
  return urls;
}

int run(int argc, char** argv) {
  Settings settings;
  tools::CommandLine line("exs-fetch", "gets files over HTTP by exs");
  line.add("url", settings.urls, "http://HOST:PORT/PATH or exs-svc://SERVICE/PATH, one or more").required();
  line.group("Way");
  line.add("--provider", settings.way.provider, "Provider of exs to use")
      .one_of({"auto", "iwarp", "shm", "verbs"})
      .shows_default();
  line.add_flag("--tcp", settings.way.is_tcp, "By TCP, from any server");
  line.add_flag("--return", settings.way.is_written,
                "Have a service write what it answers into memory of ours");
  line.group("Output");
  line.add("-o,--output", settings.output, "Write to this file, not to the standard output")
      .value_name("FILE");
  line.add("--verify", settings.sum, "Fail unless the SHA-256 of each file is this").value_name("SUM");
  line.add_flag("--sums", settings.prints_sums,
                "Print SHA-256 and URL of each in place of it, as sha256sum does");
  line.add_json_flag(settings.json);
  line.group("Repetition and limits");
  line.add("--repeat", settings.repeat, "Fetch all of them so many times, and write the first of each")
      .between(std::uint64_t{1}, std::uint64_t{1} << 31U)
      .shows_default();
  line.add("--warm-up", settings.warm_up, "Fetches of each before the first that counts").shows_default();
  line.add("--limit", settings.limit_s, "Seconds that a connect, a send or a receive may take")
      .between(tools::kSecondsMin, 86400.0)
      .shows_default();
  line.add("--retry", settings.retry_s,
           "Seconds to try again, on new connections, when a connection breaks or is refused")
      .between(0.0, 86400.0)
      .shows_default();
  line.parse(argc, argv);
  const std::vector<Url> urls = parse_urls(settings);
  settings.way.limit = std::chrono::nanoseconds(tools::ns_of(settings.limit_s));
  if (sodium_init() < 0) throw tools::Failure("libsodium does not start");
  if (settings.way.provider != "auto") setenv("EXS_PROVIDER", settings.way.provider.c_str(), 1);
  tools::catch_interrupts();
  exs::cpp::Library library;
  Client client(settings, urls);
  client.run();
  client.report();
  return tools::interrupted() ? kExitInterrupted : 0;
}

}  // namespace
}  // namespace fetch

int main(int argc, char** argv) {
  return tools::run_main("exs-fetch", [&] { return fetch::run(argc, argv); });
}
