// The server of either benchmark: one thread, with a queue of its own, for each client.
//
// Design notes
//  1. With a thread and a queue of its own, each client gets the wait mode that it asked for. Its needs (buffers, verification, a slow
//     end) delay no other client. The library puts each queue on a shard in turn.
//  2. The accept names the queue of the session to come, so the connection belongs to the shard of its queue. A session has its thread
//     and its queue before it accepts its client. While they are lacking, clients wait in the backlog.
//  3. As one end of --self with one connection, it serves one client after the other. On a machine with one core, a thread that waits for
//     another client would share the shard and hand every event on.
//  4. Signals are blocked everywhere and taken by sigwait() in the main thread, which ends the sessions by shutting their sockets down. A
//     session leaves the list before it closes its socket, so a number in the list never means another socket.
// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "perf/support/benchmark.h"
#include "perf/support/control.h"
#include "tools/common/failure.h"
#include "tools/common/lines.h"
#include "tools/common/units.h"

namespace perf {
namespace {

constexpr int kQueueDepth = static_cast<int>(2 * (kDepthMax + kSpareOperations));
constexpr std::size_t kSessionsMax = 256;

void tell_of(std::string_view who, std::string_view line, int descriptor) noexcept try {
  tools::tell(descriptor, std::string(who) + ": " + std::string(line));
} catch (const std::exception&) {  // no memory for the line
}

}  // namespace

class BenchmarkServer {
 public:
  BenchmarkServer(const Benchmark& benchmark, const ServerSettings& settings)
      : benchmark_(benchmark),
        settings_(settings),
        listener_(listen_on(settings.address, settings.port, server_options(settings.provider))) {}

  void start();
  void stop();
  void print_summary() const;
  [[nodiscard]] const Socket& listener() const { return listener_; }
  [[nodiscard]] bool has_failed() const {
    const std::lock_guard guard(mutex_);
    return failed_ > 0;
  }

 private:
  enum class Stage { accepting, serving, failed, closed };  // failed and closed: without a client
  struct Session {
    std::unique_ptr<Queue> queue;
    std::atomic<Stage> stage{Stage::accepting};
    // Written last by the session's thread, read by the acceptor: may be joined.
    std::atomic<bool> done{false};
    std::thread thread;
  };

  void accept_all();
  // Returns the stage after accepting.
  Stage begin_session();
  void run(Session& session);
  // Returns a closed socket if the listening socket has been closed.
  Socket accept(Queue& queue) const;
  Stage stage_after(const std::exception& failure) const;
  void serve(Queue& queue, Socket socket);
  bool enter(int descriptor);
  void leave(int descriptor, bool served, bool more);
  // Returns true if the client will ask again.
  bool serve_job(Channel& channel, const std::string& peer);
  void join_finished();
  void say(const std::string& peer, std::string_view line) const noexcept;

  const Benchmark& benchmark_;
  const ServerSettings settings_;
  Socket listener_;
  std::thread acceptor_;
  std::list<Session> sessions_;  // the acceptor's; after it has ended, stop()'s

  mutable std::mutex mutex_;  // guards the members below
  std::set<int> open_;
  bool stopping_ = false;
  std::uint64_t served_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

void BenchmarkServer::start() {
  acceptor_ = std::thread([this] { accept_all(); });
}

void BenchmarkServer::accept_all() {
  for (;;) {
    join_finished();
    Stage stage = Stage::failed;
    try {
      stage = begin_session();
    } catch (const std::exception& failure) {
      stage = stage_after(failure);
    }
    if (stage == Stage::closed) return;
    // The lack of descriptors, memory or threads may last: the pause keeps messages from filling the terminal.
    if (stage == Stage::failed) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

BenchmarkServer::Stage BenchmarkServer::begin_session() {
  Session& session = sessions_.emplace_back();
  session.thread = tools::try_to("no thread for a client",
                                 [&] { return std::thread([this, &session] { run(session); }); });
  session.stage.wait(Stage::accepting);
  const Stage stage = session.stage;
  if (settings_.one_after_another && stage == Stage::serving) session.thread.join();
  return stage;
}

// A server at its limit waits for the oldest session, and further clients wait in the backlog.
void BenchmarkServer::join_finished() {
  if (sessions_.size() >= kSessionsMax && sessions_.front().thread.joinable())
    sessions_.front().thread.join();
  std::erase_if(sessions_, [](Session& session) {
    if (session.thread.joinable() && !session.done) return false;
    if (session.thread.joinable()) session.thread.join();
    return true;
  });
}

void BenchmarkServer::run(Session& session) {
  const auto reach = [&session](Stage stage) {
    session.stage = stage;
    session.stage.notify_one();
  };
  try {
    session.queue = std::make_unique<Queue>(kQueueDepth, Wait::notify);
    Socket socket = accept(*session.queue);
    reach(socket.is_open() ? Stage::serving : Stage::closed);
    if (socket.is_open()) serve(*session.queue, std::move(socket));
  } catch (const std::exception& failure) {
    reach(stage_after(failure));
  }
  session.queue.reset();
  session.done = true;
}

Socket BenchmarkServer::accept(Queue& queue) const {
  if (exs_accept(listener_.number(), nullptr, 0, queue.handle(), nullptr) == -1)
    tools::fail("exs_accept", errno);
  exs_event_t event{};
  while (queue.take({&event, 1}, -1) == 0) continue;
  if (event.exs_evt_errno == ECANCELED) return Socket();
  if (event.exs_evt_errno != 0) tools::fail("cannot accept a client", event.exs_evt_errno);
  return Socket(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
}

BenchmarkServer::Stage BenchmarkServer::stage_after(const std::exception& failure) const {
  const std::lock_guard guard(mutex_);
  if (stopping_) return Stage::closed;
  tell_of(benchmark_.name, failure.what(), STDERR_FILENO);
  return Stage::failed;
}

// Whatever is lacking, only this client loses its connection.
void BenchmarkServer::serve(Queue& queue, Socket socket) {
  const int descriptor = socket.number();
  bool served = false;
  bool more = false;
  std::string peer;
  std::unique_ptr<Channel> channel;
  try {
    peer = peer_name(socket);
    if (!enter(descriptor)) return;
    channel = std::make_unique<Channel>(std::move(socket), queue);
    more = serve_job(*channel, peer);
    served = true;
  } catch (const std::exception& error) {
    say(peer, error.what());
  }
  leave(descriptor, served, more);
}

bool BenchmarkServer::enter(int descriptor) {
  const std::lock_guard guard(mutex_);
  if (!stopping_) open_.insert(descriptor);
  return !stopping_;
}

void BenchmarkServer::leave(int descriptor, bool served, bool more) {
  const std::lock_guard guard(mutex_);
  open_.erase(descriptor);
  served ? ++served_ : ++failed_;
  if (settings_.one_client && !more && open_.empty()) kill(getpid(), SIGTERM);  // for run_server()
}

// In reverse the client receives, and its results are those of receiving.
PeerResults carry_out(const Method& method, Channel& channel, const Request& request) {
  Progress silent;
  if (request.job.reverse) {
    channel.queue().wait_like(request.job.wait);
    channel.send_control(encode_answer({}));
    const Answer answer = decode_answer(channel.receive_control("the client does not begin"));
    if (answer.verdict != Verdict::accepted) throw tools::Failure("the client does not begin");
    const Driven driven = method.drive(channel, request.job, request.limit, silent);
    if (!driven.broken.empty()) throw tools::Failure(driven.broken);
    return driven.peer;
  }
  const PeerResults results = method.serve(channel, request.job, silent);
  channel.send_control(encode_results(results));
  return results;
}

bool BenchmarkServer::serve_job(Channel& channel, const std::string& peer) {
  Request request;
  Verdict verdict = decode_request(channel.receive_control("no request"), benchmark_.id, request);
  const Job& job = request.job;
  const auto method = std::ranges::find(benchmark_.methods, job.kind, &Method::kind);
  if (verdict == Verdict::accepted && method == benchmark_.methods.end()) verdict = Verdict::other_kind;
  if (verdict != Verdict::accepted) {
    channel.send_control(encode_answer({verdict}));
    throw tools::Failure("refused: " + sentence_of(verdict));
  }
  try {
    channel.make_slots(job.size_bytes, server_buffers(job), job.memory);
  } catch (const tools::Failure&) {
    channel.send_control(encode_answer({Verdict::no_memory}));
    throw;
  }
  if (const std::uint32_t count = data_connections(job); count > 0) {
    channel.accept_data(count, traits_of(job.kind).socket_type, server_options(settings_.provider));
  }
  channel.allow_operations(job.depth + kSpareOperations);
  const PeerResults results = carry_out(*method, channel, request);
  {
    const std::lock_guard guard(mutex_);
    messages_ += results.messages;
    bytes_ += results.bytes;
  }
  const double seconds = static_cast<double>(results.wall_ns) / static_cast<double>(tools::kNsPerSecond);
  say(peer, tools::format(
                "%s messages of %s, %s, wait %s%s",
                tools::format_count(static_cast<double>(results.messages)).c_str(),
                tools::format_size(job.size_bytes).c_str(),
                tools::format_rate(seconds > 0 ? static_cast<double>(results.bytes) / seconds : 0).c_str(),
                name_of(job.wait),
                results.wrong_messages > 0 ? ", DAMAGED"
                : job.verify               ? ", verified"
                                           : ""));
  return job.more;
}

void BenchmarkServer::say(const std::string& peer, std::string_view line) const noexcept {
  if (!settings_.quiet) tell_of(peer, line, STDOUT_FILENO);
}

void BenchmarkServer::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    for (const int descriptor : open_) exs_shutdown(descriptor, SHUT_RDWR);
  }
  listener_.close();
  acceptor_.join();
  for (Session& session : sessions_) {
    if (session.thread.joinable()) session.thread.join();
  }
}

void BenchmarkServer::print_summary() const {
  if (settings_.quiet) return;
  const std::lock_guard guard(mutex_);
  tools::tell(STDOUT_FILENO, "served " + std::to_string(served_) + " clients, " + std::to_string(failed_) +
                                 " failed, " + std::to_string(messages_) + " messages, " +
                                 std::to_string(bytes_) + " bytes");
}

static void announce(const ServerSettings& settings, const BenchmarkServer& server) {
  if (settings.port_out == -1) {
    std::printf("listening on %s\n", local_name(server.listener()).c_str());
    std::fflush(stdout);
    return;
  }
  const std::uint16_t port = local_port(server.listener());
  if (write(settings.port_out, &port, sizeof port) != static_cast<ssize_t>(sizeof port))
    tools::fail("cannot tell the port", errno);
  close(settings.port_out);
}

int run_server(const Benchmark& benchmark, const ServerSettings& settings) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const Library library;
  BenchmarkServer server(benchmark, settings);
  server.start();
  announce(settings, server);
  // A terminal sends SIGINT to both ends of --self; the client ends first and then stops the server by SIGTERM.
  int signal = 0;
  do {
    sigwait(&stop, &signal);
  } while (settings.port_out != -1 && signal == SIGINT);
  server.stop();
  server.print_summary();
  return settings.one_client && server.has_failed() ? 1 : 0;
}

class ServerHere::Running {
 public:
  Running(const Benchmark& benchmark, const ServerSettings& settings) : server_(benchmark, settings) {
    server_.start();
  }
  ~Running() { server_.stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  [[nodiscard]] std::uint16_t port() const { return local_port(server_.listener()); }

 private:
  BenchmarkServer server_;
};

ServerHere::ServerHere(const Benchmark& benchmark, const Options& options)
    : running_(std::make_unique<Running>(
          benchmark,
          ServerSettings{.address = options.bind_address.empty() ? "127.0.0.1" : options.bind_address,
                         .provider = options.provider,
                         .quiet = true,
                         .one_after_another = options.connections == 1})) {}

ServerHere::~ServerHere() = default;

std::uint16_t ServerHere::port() const {
  return running_->port();
}

}  // namespace perf
