// exs inside asio: one thread and one io_context serve the clients of exs, a plain TCP port and a timer.
//
// The coroutines of exs have their own loop, which asio carries: asio watches the loop's descriptor, and one of its
// timers stands for the first timer of the loop. A client of exs sends "add NUMBER NUMBER" and gets the sum. A client
// of the TCP port gets a line with the counts. SIGINT ends the server.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <asio.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "exs/exs.hpp"

namespace {

namespace ex = exs::cpp;
using asio::ip::tcp;

constexpr std::size_t kMessageMax = 128;
constexpr auto kPeriod = std::chrono::milliseconds(10);

// Runs a loop of exs in an io_context. After spawning a task outside of the loop, call carry_out().
class Carrier {
 public:
  Carrier(asio::io_context& context, ex::Loop& loop)
      : loop_(loop), descriptor_(context, checked(loop.descriptor())), timer_(context) {
    watch();
  }
  ~Carrier() { descriptor_.release(); }  // the descriptor belongs to the loop
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  void carry_out() {
    while (loop_.poll()) continue;
    const auto left = loop_.until_timer();
    if (!left) return;
    timer_.expires_after(*left);
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) carry_out();
    });
  }

 private:
  static int checked(int descriptor) { return ex::checked(descriptor, "descriptor"); }
  void watch() {
    descriptor_.async_wait(asio::posix::descriptor_base::wait_read, [this](const asio::error_code& error) {
      if (error) return;
      carry_out();
      watch();
    });
  }

  ex::Loop& loop_;
  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer timer_;
};

struct Counts {
  unsigned long answered = 0, ticks = 0;
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

ex::Task<> serve(ex::AsyncSocket client, Counts& counts) {
  std::array<std::byte, kMessageMax> memory;
  for (;;) {
    const ex::Result request = co_await client.recv(memory);
    if (!request || request.ended()) break;
    const ex::Result reply = co_await client.send(answer(memory, request.bytes));
    if (!reply) break;
    ++counts.answered;
  }
}

ex::Task<> accept_clients(ex::Loop& loop, const ex::Socket& listening, Counts& counts) {
  for (;;) {
    ex::Accepted accepted = co_await ex::accept(loop, listening);
    if (accepted.error == std::errc::operation_canceled) break;
    if (accepted) loop.spawn(serve(std::move(accepted.socket), counts));
  }
}

// Timers of both: exs sleeps for the period, asio answers the clients of the TCP port.
ex::Task<> tick(ex::Loop& loop, Counts& counts) {
  for (;;) {
    const ex::Outcome slept = co_await loop.sleep_for(kPeriod);
    if (!slept) break;
    ++counts.ticks;
  }
}

void tell_viewers(tcp::acceptor& acceptor, const Counts& counts) {
  acceptor.async_accept([&](const asio::error_code& error, tcp::socket viewer) {
    if (error) return;
    auto line = std::make_shared<std::string>(std::to_string(counts.answered) + " requests answered, " +
                                              std::to_string(counts.ticks) + " ticks\n");
    auto kept = std::make_shared<tcp::socket>(std::move(viewer));
    asio::async_write(*kept, asio::buffer(*line), [line, kept](const asio::error_code&, std::size_t) {});
    tell_viewers(acceptor, counts);
  });
}

void run(std::uint16_t port) {
  Counts counts;
  ex::Socket listening = ex::Socket::create();
  listening.bind(ex::Address::loopback(port));
  listening.listen(1024);
  ex::Loop loop;  // destroyed before the objects that its coroutines use
  asio::io_context context;
  Carrier carrier(context, loop);
  loop.spawn(accept_clients(loop, listening, counts));
  loop.spawn(tick(loop, counts));
  carrier.carry_out();

  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tell_viewers(acceptor, counts);
  asio::signal_set stop(context, SIGINT);
  stop.async_wait([&](const asio::error_code&, int) { context.stop(); });
  std::printf("tcp on port %u, listening on port %u\n", acceptor.local_endpoint().port(),
              listening.local_address().port());
  std::fflush(stdout);
  context.run();
  std::printf("%lu requests answered\n", counts.answered);
}

}  // namespace

constexpr char help[] =
    "usage: asio_server [PORT]\n"
    "Answers \"add NUMBER NUMBER\" with the sum, from a loop of asio, until SIGINT.\n"
    "Listens at 127.0.0.1, PORT (7778; 0: any free port). A TCP port prints the counts.\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(help, stdout) < 0 ? 1 : 0;
  try {
    const ex::Library library;
    run(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 7778));  // 0: any free port
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
