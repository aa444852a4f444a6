// A key-value store with a time to live, for many clients, on one thread: a coroutine for each client, and one for each
// key that expires.
//
// Requests: "set KEY MILLISECONDS VALUE" (0: it stays), "get KEY", "drop KEY". Replies: "ok", "value VALUE", "none", or
// "error". SIGINT ends the server; the loop waits for it as for everything else.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "exs/exs.hpp"

namespace {

namespace ex = exs::cpp;

constexpr std::size_t kMessageMax = 4096;

class Store {
 public:
  explicit Store(ex::Loop& loop) : loop_(loop) {}

  void set(const std::string& key, std::chrono::milliseconds time_to_live, std::string value) {
    Entry& entry = entries_[key];
    entry.value = std::move(value);
    entry.due.reset();
    if (time_to_live.count() == 0) return;
    entry.due = ex::Clock::now() + time_to_live;
    // The coroutine of the key's old time may sleep for longer.
    loop_.spawn(expire(key, *entry.due));
  }
  const std::string* get(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  bool drop(const std::string& key) { return entries_.erase(key) > 0; }
  [[nodiscard]] unsigned long expired() const { return expired_; }

 private:
  struct Entry {
    std::string value;
    std::optional<ex::Clock::time_point> due;
  };

  // A key that was set again meanwhile has another due time, and another coroutine.
  ex::Task<> expire(std::string key, ex::Clock::time_point due) {
    const ex::Outcome slept = co_await loop_.sleep_until(due);
    if (!slept) co_return;  // the loop ends
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.due != due) co_return;
    entries_.erase(found);
    ++expired_;
  }

  ex::Loop& loop_;
  std::map<std::string, Entry> entries_;
  unsigned long expired_ = 0;
};

std::string answer(Store& store, const std::string& request) {
  std::istringstream words(request);
  std::string verb;
  std::string key;
  if (!(words >> verb >> key)) return "error";
  if (verb == "get") {
    const std::string* const value = store.get(key);
    return value == nullptr ? "none" : "value " + *value;
  }
  if (verb == "drop") return store.drop(key) ? "ok" : "none";
  unsigned milliseconds = 0;
  std::string value;
  if (verb != "set" || !(words >> milliseconds) || !std::getline(words >> std::ws, value)) return "error";
  store.set(key, std::chrono::milliseconds(milliseconds), value);
  return "ok";
}

struct Server {
  explicit Server(std::uint16_t port) {
    listening.bind(ex::Address::loopback(port));
    listening.listen(1024);
  }
  ex::Socket listening = ex::Socket::create();
  unsigned long answered = 0;
};

ex::Task<> serve(ex::AsyncSocket client, Store& store, Server& server) {
  std::array<std::byte, kMessageMax> memory;
  for (;;) {
    const ex::Result request = co_await client.recv(memory);
    if (!request || request.ended()) break;
    const std::string text(ex::text_of(std::span(memory).first(request.bytes)));
    const std::string reply = request.truncated() ? "error" : answer(store, text);
    const ex::Result sent = co_await client.send(ex::bytes_of(reply));
    if (!sent) break;
    ++server.answered;
  }
}

ex::Task<> accept_clients(ex::Loop& loop, Store& store, Server& server) {
  for (;;) {
    ex::Accepted accepted = co_await ex::accept(loop, server.listening);
    if (accepted.error == std::errc::operation_canceled) break;
    if (accepted) loop.spawn(serve(std::move(accepted.socket), store, server));
  }
}

ex::Task<> stop_at_signal(ex::Loop& loop, int signals) {
  const ex::Outcome arrived = co_await loop.readable(signals);
  if (arrived) loop.stop();
}

void run(std::uint16_t port) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const int signals = ex::checked(signalfd(-1, &stop, SFD_CLOEXEC), "signalfd");

  Server server(port);
  std::optional<Store> store;  // its coroutines end with the loop, which is destroyed first
  ex::Loop loop;
  store.emplace(loop);
  loop.spawn(stop_at_signal(loop, signals));
  loop.spawn(accept_clients(loop, *store, server));
  std::printf("listening on port %u\n", server.listening.local_address().port());
  std::fflush(stdout);
  loop.run();
  std::printf("%lu requests answered, %lu keys expired\n", server.answered, store->expired());
  close(signals);
}

}  // namespace

constexpr char help[] =
    "usage: kv_server [PORT]\n"
    "Keeps values by keys, with a time to live, for many clients, until SIGINT.\n"
    "Requests: \"set KEY MILLISECONDS VALUE\" (0: it stays), \"get KEY\", \"drop KEY\".\n"
    "Listens at 127.0.0.1, PORT (7779; 0: any free port).\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(help, stdout) < 0 ? 1 : 0;
  try {
    const ex::Library library;
    run(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 7779));  // 0: any free port
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
