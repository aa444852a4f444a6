// Clients of kv_server, all at once: each sets keys of its own, some of which expire, and checks their values.
//   kv_client PORT [CLIENTS]
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "exs/exs.hpp"

using namespace std::chrono_literals;

namespace {

namespace ex = exs::cpp;

constexpr auto kReplyLimit = 30s;

ex::Task<std::string> ask(ex::AsyncSocket& server, std::string request) {
  std::array<std::byte, 4096> memory;
  const auto [reply, sent] = co_await ex::both(ex::with_timeout(kReplyLimit, server.recv(memory)),
                                               server.send(ex::bytes_of(request)));
  static_cast<void>(sent.value());
  co_return std::string(ex::text_of(std::span(memory).first(reply.value())));
}

ex::Task<> expect(ex::AsyncSocket& server, std::string request, std::string expected) {
  const std::string reply = co_await ask(server, request);
  if (reply != expected) throw std::runtime_error("\"" + request + "\" was answered with \"" + reply + "\"");
}

// Waits as long as the server takes.
ex::Task<> await_expiry(ex::Loop& loop, ex::AsyncSocket& server, std::string key) {
  for (;;) {
    const std::string reply = co_await ask(server, "get " + key);
    if (reply == "none") break;
    (co_await loop.sleep_for(1ms)).value();
  }
}

ex::Task<> run_client(ex::Loop& loop, ex::Address address, int number, int& done) {
  ex::AsyncSocket server(loop);
  (co_await server.connect(address)).value();
  const std::string name = std::to_string(number);
  co_await expect(server, "get " + name, "none");
  co_await expect(server, "set " + name + " 0 stays for ever", "ok");
  // A renewed key has only its new time: the old one ends before that of the key set after it.
  co_await expect(server, "set renewed" + name + " 20 old", "ok");
  co_await expect(server, "set renewed" + name + " 86400000 new", "ok");
  co_await expect(server, "set short" + name + " 20 soon", "ok");
  co_await await_expiry(loop, server, "short" + name);
  co_await expect(server, "get renewed" + name, "value new");
  co_await expect(server, "get " + name, "value stays for ever");
  co_await expect(server, "drop " + name, "ok");
  co_await expect(server, "get " + name, "none");
  co_await expect(server, "set " + name + " soon", "error");
  ++done;
}

}  // namespace

constexpr char help[] =
    "usage: kv_client PORT [CLIENTS]\n"
    "Runs CLIENTS (100) of kv_server at 127.0.0.1, PORT, all at once.\n"
    "Each sets keys, some of which expire, and checks their values.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(help, stdout) < 0 ? 1 : 0;
  if (argc < 2) return std::fputs(help, stderr), 2;
  const ex::Address address = ex::Address::loopback(static_cast<std::uint16_t>(std::atoi(argv[1])));
  const int clients = argc > 2 ? std::atoi(argv[2]) : 100;
  int done = 0;
  try {
    ex::Loop loop;
    for (int i = 0; i < clients; ++i) loop.spawn(run_client(loop, address, i, done));
    loop.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("%d clients, each key as it should be\n", done);
  return done == clients ? 0 : 1;
}
