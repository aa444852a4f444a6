// tcp-baseline: plain TCP between two processes of this machine, measured like exs-blast and exs-ping, for comparison.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/exs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "base/socket_address.h"
#include "perf/support/report.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/progress_line.h"
#include "tools/common/units.h"

namespace tcp_baseline {
namespace {

using tools::fail;

constexpr int kExitInterrupted = 130;

struct Settings {
  std::size_t buffers = 1;  // of a blast, at each end
  perf::Job job;
  perf::Limit limit;
  bool json = false;
  bool pin = true;
  bool nagle = false;
  std::string address = "127.0.0.1";
};

// The receiving end's report, over the same connection: both ends are this program on this machine.
struct PeerUsage {
  std::uint64_t bytes = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;
};

class Stream {
 public:
  // Spins if `busy`, else blocks.
  Stream(int descriptor, bool busy, bool nagle) : descriptor_(descriptor), flags_(busy ? MSG_DONTWAIT : 0) {
    const int on = nagle ? 0 : 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Stream() { close(descriptor_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void write_all(const void* from, std::size_t length) const {
    const auto* at = static_cast<const char*>(from);
    while (length > 0) {
      const ssize_t done = send(descriptor_, at, length, flags_ | MSG_NOSIGNAL);
      if (done < 0 && !try_again()) fail("send", errno);
      if (done <= 0) continue;
      at += done;
      length -= static_cast<std::size_t>(done);
    }
  }

  // Reads at least one byte; 0: the peer has ended.
  std::size_t read_some(void* into, std::size_t length) const {
    for (;;) {
      const ssize_t done = recv(descriptor_, into, length, flags_);
      if (done >= 0) return static_cast<std::size_t>(done);
      if (!try_again()) fail("recv", errno);
    }
  }

  // Returns false if the peer has ended.
  bool read_all(void* into, std::size_t length) const {
    auto* at = static_cast<char*>(into);
    while (length > 0) {
      const std::size_t done = read_some(at, length);
      if (done == 0) return false;
      at += done;
      length -= done;
    }
    return true;
  }

  void end_writing() const { shutdown(descriptor_, SHUT_WR); }

 private:
  static bool try_again() { return errno == EAGAIN || errno == EINTR; }
  const int descriptor_;
  const int flags_;
};

bool is_busy(const Settings& settings) {
  return settings.job.wait == perf::Wait::busy;
}

int listen_on(const std::string& name, sockaddr_storage& address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address = exs::parse_address(name).value_or(sockaddr_storage{});  // checked by the command line
  sockaddr* const generic = exs::as_sockaddr(address);
  socklen_t length = exs::address_bytes(*generic);
  if (listener == -1 || bind(listener, generic, length) == -1 || listen(listener, 1) == -1 ||
      getsockname(listener, generic, &length) == -1) {
    fail("cannot listen on " + name, errno);
  }
  return listener;
}

int connect_to(const sockaddr_storage& address) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor == -1 ||
      connect(descriptor, exs::as_sockaddr(address), exs::address_bytes(*exs::as_sockaddr(address))) == -1) {
    fail("cannot connect to the other end", errno);
  }
  return descriptor;
}

void tell(const Stream& stream, PeerUsage usage, const tools::Stopwatch& watch) {
  usage.cpu_ns = watch.cpu_ns();
  usage.wall_ns = watch.wall_ns();
  stream.write_all(&usage, sizeof usage);
}

void receive_blast(const Stream& stream, const Settings& settings) {
  // With --nagle only bytes count, so a read takes what has arrived. Otherwise each read is at most one message.
  constexpr std::size_t kNagleReadBytes = std::size_t{64} * 1024;
  const std::size_t read_bytes = std::max(settings.job.size_bytes, settings.nagle ? kNagleReadBytes : 0);
  std::vector<char> memory(read_bytes * settings.buffers);
  tools::Stopwatch watch;
  PeerUsage usage;
  usage.bytes = stream.read_some(memory.data(), read_bytes);
  watch.start();
  // A single buffer is filled from its start by each read. Several are filled one after the other.
  for (std::size_t got = usage.bytes; got > 0; usage.bytes += got) {
    const std::size_t at = settings.buffers == 1 ? 0 : usage.bytes % memory.size();
    got = stream.read_some(memory.data() + at, std::min(read_bytes, memory.size() - at));
  }
  watch.stop();
  tell(stream, usage, watch);
}

void send_blast(const Stream& stream, const Settings& settings, perf::Measurement& out,
                tools::Stopwatch& watch) {
  const std::size_t size = settings.job.size_bytes;
  const std::vector<char> memory(size * settings.buffers, 'x');
  const perf::Limit& limit = settings.limit;
  watch.start();
  const std::uint64_t end_ns = watch.start_ns() + limit.time_ns;
  tools::ProgressLine line;
  line.begin("", "messages", {limit.count, limit.time_ns});
  while (!tools::interrupted() &&
         (limit.count > 0 ? out.messages < limit.count : exs::monotonic_ns() < end_ns)) {
    stream.write_all(memory.data() + out.messages % settings.buffers * size, size);
    line.update(++out.messages);
  }
  stream.end_writing();
}

void echo_ping(const Stream& stream, const Settings& settings) {
  std::vector<char> buffer(settings.job.size_bytes);
  tools::Stopwatch watch;
  PeerUsage usage;
  for (std::uint64_t n = 0; stream.read_all(buffer.data(), buffer.size()); ++n) {
    if (n == settings.job.warmup_messages) watch.start();
    stream.write_all(buffer.data(), buffer.size());
    if (n >= settings.job.warmup_messages) usage.bytes += buffer.size();
  }
  watch.stop();
  tell(stream, usage, watch);
}

void ping(const Stream& stream, const Settings& settings, perf::Measurement& out, tools::Stopwatch& watch) {
  std::vector<char> buffer(settings.job.size_bytes, 'x');
  const perf::Limit& limit = settings.limit;
  out.round_trips.emplace();
  std::uint64_t end_ns = UINT64_MAX;
  std::uint64_t now_ns = exs::monotonic_ns();
  tools::ProgressLine line;
  line.begin("", "messages", {limit.count, limit.time_ns});
  const auto goes_on = [&] { return limit.count > 0 ? out.messages < limit.count : now_ns < end_ns; };
  for (std::uint64_t n = 0; goes_on() && !tools::interrupted(); ++n) {
    if (n == settings.job.warmup_messages) {
      watch.start();
      end_ns = watch.start_ns() + limit.time_ns;
    }
    const std::uint64_t start_ns = exs::monotonic_ns();
    stream.write_all(buffer.data(), buffer.size());
    if (!stream.read_all(buffer.data(), buffer.size())) throw tools::Failure("the other end has gone");
    now_ns = exs::monotonic_ns();
    if (n < settings.job.warmup_messages) continue;
    out.round_trips->record(now_ns - start_ns);
    line.update(++out.messages, now_ns);
  }
  if (watch.start_ns() == 0) watch.start();  // interrupted before
  watch.stop();
  stream.end_writing();
}

perf::Measurement measure(const Settings& settings) {
  const bool is_ping = settings.job.benchmark == perf::BenchmarkId::ping;
  sockaddr_storage address{};
  const int listener = listen_on(settings.address, address);
  const tools::ChildProcess child([&] {
    tools::leave_interrupts_to_parent();
    if (settings.pin) tools::pin_to_core(1);
    const Stream stream(accept(listener, nullptr, nullptr), is_busy(settings), settings.nagle);
    is_ping ? echo_ping(stream, settings) : receive_blast(stream, settings);
    return 0;
  });
  close(listener);
  perf::Measurement out;
  out.pinned = settings.pin && tools::pin_to_core(0);
  out.provider = "tcp";
  out.job = settings.job;
  tools::catch_interrupts();
  tools::Stopwatch watch;
  const Stream stream(connect_to(address), is_busy(settings), settings.nagle);
  is_ping ? ping(stream, settings, out, watch) : send_blast(stream, settings, out, watch);
  PeerUsage peer;
  if (!stream.read_all(&peer, sizeof peer)) throw tools::Failure("the other end has gone");
  if (!is_ping) watch.stop();
  if (peer.bytes != out.messages * settings.job.size_bytes) throw tools::Failure("bytes are missing");
  out.interrupted = tools::interrupted();
  out.seconds = tools::seconds_of(watch.wall_ns());
  out.sender_cpu_percent = tools::cpu_percent(watch.cpu_ns(), watch.wall_ns());
  out.receiver_cpu_percent = tools::cpu_percent(peer.cpu_ns, peer.wall_ns);
  return out;
}

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  std::string mode = "blast";
  std::string size;
  std::string wait = "notify";
  double seconds = 2;
  bool no_pin = false;
  tools::CommandLine line("tcp-baseline", "plain TCP between two processes of this machine");
  line.add("--mode", mode,
           "blast: writes of --size bytes, one after the other. ping: round trips, one at a time")
      .one_of_in_any_case({"blast", "ping"})
      .shows_default();
  line.add("--size", size, "Bytes in a message; K, M and G are 2^10, 2^20 and 2^30. Default 1M, ping 64");
  line.add("--buffers", settings.buffers,
           "Buffers of a blast at each end, used in turn, as those of messages under way are: what does not "
           "fit a cache is slower")
      .between(std::size_t{1}, std::size_t{4096})
      .shows_default();
  line.add("--wait", wait, "notify: blocking calls. busy: non-blocking calls in a loop")
      .one_of_in_any_case({"notify", "busy"})
      .shows_default();
  const tools::Option time =
      line.add("--time", seconds, "Seconds to measure").between(tools::kSecondsMin, 86400.0).shows_default();
  line.add("--count", settings.limit.count, "Messages to measure, in place of a time").excludes(time);
  line.add_bind_address(settings.address);
  line.add_flag("--nagle", settings.nagle, "Let the kernel combine small writes: no TCP_NODELAY");
  line.add_json_flag(settings.json);
  line.add_flag("--no-pin", no_pin,
                "Leave the choice of cores to the system, instead of one core for each end");
  line.parse(argc, argv);
  perf::Job& job = settings.job;
  job.benchmark = mode == "ping" ? perf::BenchmarkId::ping : perf::BenchmarkId::blast;
  job.wait = wait == "busy" ? perf::Wait::busy : perf::Wait::notify;
  if (size.empty()) size = mode == "ping" ? "64" : "1M";
  job.size_bytes = tools::parse_size(size);
  if (job.size_bytes < 1 || job.size_bytes > perf::kSizeMaxBytes)
    throw tools::UsageError("--size must be 1 to 1G");
  if (mode == "ping") job.warmup_messages = perf::warmup_messages_for(job.size_bytes, settings.limit.count);
  settings.limit.time_ns = tools::ns_of(seconds);
  settings.pin = !no_pin;
  return settings;
}

// Returns the exit status.
int run(const Settings& settings) {
  constexpr perf::Benchmark kBenchmark{"tcp-baseline", "", perf::BenchmarkId::blast, 0, 0, 1, false,
                                       false,          {}};
  perf::Options options;
  options.format = settings.json ? perf::Format::json : perf::Format::table;
  perf::Report report(kBenchmark, options);
  const perf::Measurement measured = measure(settings);
  report.add(measured);
  report.finish();
  return measured.interrupted ? kExitInterrupted : 0;
}

}  // namespace
}  // namespace tcp_baseline

int main(int argc, char** argv) {
  return tools::run_main("tcp-baseline", [&] { return tcp_baseline::run(tcp_baseline::parse(argc, argv)); });
}
