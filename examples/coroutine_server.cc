// A request/response server of coroutines. It does the same as request_server.c, with one coroutine for each client
// that reads from top to bottom. Each thread has a loop of its own; they share nothing but the listening socket.
//
// A request is "add NUMBER NUMBER"; the reply is the sum. SIGINT ends the server.
// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "exs/exs.hpp"

namespace {

namespace ex = exs::cpp;

constexpr std::size_t kClientsMax = 16384;
constexpr std::size_t kMessageMax = 128;
constexpr int kThreads = 2;
constexpr int kLingerMs = 1000;

// Memory for the messages of clients, registered once: this is cheaper than once for each.
class Places {
 public:
  Places() {
    for (std::size_t i = kClientsMax; i-- > 0;) free_.push_back(i);
  }
  class Place {
   public:
    explicit Place(Places& all) : all_(all), number_(all.free_.back()) { all.free_.pop_back(); }
    ~Place() { all_.free_.push_back(number_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    std::span<std::byte> bytes() { return all_.memory_.bytes().subspan(number_ * kMessageMax, kMessageMax); }

   private:
    Places& all_;
    const std::size_t number_;
  };
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] exs_mhandle_t region() const { return memory_.region(); }

 private:
  const ex::Buffer memory_{kClientsMax * kMessageMax};
  std::vector<std::size_t> free_;
};

// Replaces the request in `memory` by the reply.
std::span<const std::byte> answer(std::span<std::byte> memory, std::size_t length) {
  const std::string request(ex::text_of(memory.first(length)));
  long a = 0;
  long b = 0;
  const bool known = std::sscanf(request.c_str(), "add %9ld %9ld", &a, &b) == 2;
  const std::string reply = known ? std::to_string(a + b) : "error: not a request";
  std::copy(reply.begin(), reply.end(), reinterpret_cast<char*>(memory.data()));
  return memory.first(reply.size());
}

struct Worker {
  Places places;
  ex::Loop loop;  // destroyed first, which ends the coroutines that use the places
  unsigned long served = 0, failed = 0, answered = 0;
};

ex::Task<> serve(Worker& worker, ex::AsyncSocket client) {
  Places::Place place(worker.places);
  const exs_mhandle_t region = worker.places.region();
  for (;;) {
    const ex::Result request = co_await client.recv(place.bytes(), region);
    if (request.ended()) break;
    if (!request || request.truncated()) co_return void(++worker.failed);
    const ex::Result reply = co_await client.send(answer(place.bytes(), request.bytes), region);
    if (!reply) co_return void(++worker.failed);
    ++worker.answered;
  }
  ++worker.served;
}

// Ends when the listening socket is closed.
ex::Task<> accept_clients(Worker& worker, const ex::Socket& listening) {
  for (;;) {
    ex::Accepted accepted = co_await ex::accept(worker.loop, listening);
    if (accepted.error == std::errc::operation_canceled) break;
    if (!accepted) continue;  // that client could not connect; the next one may
    if (worker.places.full()) {
      ++worker.failed;  // this one is rejected
    } else {
      worker.loop.spawn(serve(worker, std::move(accepted.socket)));
    }
  }
}

void run(std::uint16_t port) {
  sigset_t stop;  // blocked in every thread, and taken below
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  const ex::Library library;
  ex::Socket listening = ex::Socket::create();
  listening.set_option(EXS_SO_LINGER_MS, kLingerMs);
  listening.bind(ex::Address::loopback(port));
  listening.listen(1024);
  std::array<Worker, kThreads> workers;
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    worker.loop.spawn(accept_clients(worker, listening));
    threads.emplace_back([&worker] { worker.loop.run(); });
  }
  std::printf("listening on port %u\n", listening.local_address().port());
  std::fflush(stdout);

  int number = 0;
  sigwait(&stop, &number);
  listening.close().value();
  for (const Worker& worker : workers) worker.loop.stop();
  for (std::thread& thread : threads) thread.join();
  unsigned long served = 0;
  unsigned long failed = 0;
  unsigned long answered = 0;
  for (const Worker& worker : workers)
    served += worker.served, failed += worker.failed, answered += worker.answered;
  std::printf("%lu clients served, %lu failed, %lu requests answered\n", served, failed, answered);
}

}  // namespace

constexpr char help[] =
    "usage: coroutine_server [PORT]\n"
    "Answers \"add NUMBER NUMBER\" with the sum, by a coroutine for each client, until SIGINT.\n"
    "Listens at 127.0.0.1, PORT (7778; 0: any free port).\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(help, stdout) < 0 ? 1 : 0;
  rlimit files{};  // each connection is a descriptor
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
  try {
    run(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 7778));  // 0: any free port
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
