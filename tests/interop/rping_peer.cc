// rping's protocol on a link of the iwarp provider, with no exs protocol above it, as the client or the
// server of an rping that runs on somebody else's iWARP.
//
//   rping-peer client ADDRESS PORT [--count 100] [--size 64] [--connections 1] [--no-nudge] [--silence-ms
//   20000] rping-peer server ADDRESS PORT [--count 100] [--size 64]
//
// Each ping: the client sends {address, key, length} of what it has, the server reads it and says so by a
// message of its own; the client sends the same of where it wants it, the server writes it there and says so.
// Both check the bytes. The client prints "PINGS n SILENT n", SILENT being connections that heard nothing at
// all in --silence-ms and were given up; the server prints "LISTENING port", then "PINGS n".
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "src/provider/connector.h"
#include "src/provider/iwarp/settings.h"
#include "src/provider/provider.h"
#include "tests/provider/iwarp/sockets.h"

using namespace exs;
using exs::iwarp::test::require;
using exs::iwarp::test::Socket;
using exs::iwarp::test::tcp_socket;

namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kWaitLimitMs = 120'000;
constexpr std::uint64_t kLinkToken = 1;
constexpr std::uint64_t kListenerToken = 2;
constexpr std::size_t kMessageBytes = 16;
constexpr LinkDepths kDepths{16, 2, 1, 1, kMessageBytes};  // rping allows one read at a time

struct Options {
  bool is_server = false;
  sockaddr_in address{};
  std::size_t count = 100;
  std::size_t size_bytes = 64;
  std::size_t connections = 1;
  std::uint64_t silence_ms = kWaitLimitMs;
  bool nudge = true;
};

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 * kNsPerMs + static_cast<std::uint64_t>(now.tv_nsec);
}

// A port, driven by this thread and asleep while nothing happens.
class Driver {
 public:
  explicit Driver(const iwarp::Settings& settings) : provider_(make_iwarp_provider(settings)) {
    Reason why_not;
    auto opened = provider_->open_port(why_not);
    require(opened.has_value(), "open_port");
    port_ = std::move(*opened);
  }
  Port& port() { return *port_; }

  // The next completion but for sends that went well; nothing: none came in time.
  std::optional<Completion> next(std::uint64_t limit_ms = kWaitLimitMs) {
    const std::uint64_t until_ns = now_ns() + limit_ms * kNsPerMs;
    for (;;) {
      port_->flush();
      port_->progress(now_ns());
      Completion batch[8];
      while (const std::size_t count = port_->poll(batch)) {
        for (std::size_t i = 0; i < count; ++i) {
          if (batch[i].kind != CompletionKind::kSend || !batch[i].status.ok()) seen_.push_back(batch[i]);
        }
      }
      if (!seen_.empty()) {
        const Completion first = seen_.front();
        seen_.pop_front();
        return first;
      }
      const std::uint64_t now = now_ns();
      if (now >= until_ns) return std::nullopt;
      const std::uint64_t wake_ns = std::min(until_ns, port_->next_deadline_ns());
      const std::uint64_t pause_ms = wake_ns > now ? (wake_ns - now + kNsPerMs - 1) / kNsPerMs : 0;
      pollfd wait{port_->wait_fd(), POLLIN, 0};
      ::poll(&wait, 1, static_cast<int>(pause_ms));
    }
  }
  Completion expect(CompletionKind kind) {
    const std::optional<Completion> completion = next();
    require(completion.has_value(), "the peer is silent");
    require(completion->status.ok(), "a completion says that something failed");
    require(completion->kind == kind, "something else happened than the protocol of rping says");
    return *completion;
  }

 private:
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Port> port_;
  std::deque<Completion> seen_;
};

LocalSlice slice_of(std::span<std::byte> memory) {
  return {memory.data(), memory.size(), {}};
}

// What rping's client has in its buffer at that ping: its name, then the letters from one that moves on each
// time.
std::vector<std::byte> ping_data(std::size_t ping, std::size_t size_bytes) {
  constexpr unsigned kFirst = 65;
  constexpr unsigned kLetters = 122 - kFirst + 1;
  std::string text = "rdma-ping-" + std::to_string(ping) + ": ";
  for (auto letter = static_cast<unsigned>(ping); text.size() < size_bytes; ++letter) {
    text += static_cast<char>(kFirst + (letter % kLetters));
  }
  text.resize(size_bytes);
  text.back() = '\0';
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct Advertisement {
  std::array<std::byte, kMessageBytes> bytes{};

  void set(const RemoteSlice& window) {
    store_be(bytes.data(), window.address);
    store_be(bytes.data() + 8, window.key);
    store_be(bytes.data() + 12, static_cast<std::uint32_t>(window.length_bytes));
  }
  [[nodiscard]] RemoteSlice get() const {
    return {load_be<std::uint64_t>(bytes.data()), load_be<std::uint32_t>(bytes.data() + 12),
            load_be<std::uint32_t>(bytes.data() + 8)};
  }
};

// One end of an rping connection; both receives are posted before the peer can send.
class End {
 public:
  End(Driver& driver, Link& link) : driver_(driver), link_(link) {
    for (std::size_t i = 0; i < rooms_.size(); ++i) post_receive(i);
  }

  // False: the peer has ended the connection, or is silent. A message cut short ends the program.
  bool receive(std::uint64_t limit_ms = kWaitLimitMs) {
    const std::optional<Completion> completion = driver_.next(limit_ms);
    if (!completion) return false;
    if (completion->kind == CompletionKind::kReceive && completion->status.error() == ECONNRESET)
      return false;
    if (completion->kind == CompletionKind::kDisconnected) return false;
    require(completion->kind == CompletionKind::kReceive && completion->status.ok(), "no message came");
    require(completion->length_bytes == kMessageBytes, "the message has another length than rping's");
    received_ = rooms_[completion->token];
    post_receive(completion->token);
    return true;
  }
  [[nodiscard]] const Advertisement& received() const { return received_; }

  void send(const Advertisement& message) {
    require(link_.post_send(message.bytes, {}, 0).ok(), "post_send");
  }
  // Opens a window and tells the peer.
  std::uint32_t advertise(std::span<std::byte> memory, Access access) {
    const Result<RemoteSlice> window = link_.expose(slice_of(memory), access);
    require(window.has_value(), "expose");
    Advertisement message;
    message.set(*window);
    send(message);
    return window->key;
  }

 private:
  void post_receive(std::size_t room) {
    require(link_.post_recv(slice_of(rooms_[room].bytes), room).ok(), "post_recv");
  }

  Driver& driver_;
  Link& link_;
  std::array<Advertisement, 2> rooms_;
  Advertisement received_;
};

// False: the peer never said a word.
bool ping_connection(Driver& driver, const Options& options) {
  const Socket socket = tcp_socket();
  Result<std::unique_ptr<Link>> connected =
      driver.port().connector()->connect(socket.get(), reinterpret_cast<const sockaddr*>(&options.address),
                                         sizeof options.address, {{}, kDepths}, kLinkToken);
  require(connected.has_value(), "connect");
  Link& link = **connected;
  End end(driver, link);
  driver.expect(CompletionKind::kEstablished);
  for (std::size_t ping = 0; ping < options.count; ++ping) {
    std::vector<std::byte> source = ping_data(ping, options.size_bytes);
    std::vector<std::byte> sink(options.size_bytes);
    const std::uint32_t source_key = end.advertise(source, Access::kRemoteRead);
    const bool heard = end.receive(ping == 0 ? options.silence_ms : kWaitLimitMs);
    if (!heard && ping == 0) return false;
    require(heard, "the server does not go on after the ping");
    require(link.withdraw(source_key).ok(), "withdraw");
    const std::uint32_t sink_key = end.advertise(sink, Access::kRemoteWrite);
    require(end.receive(), "the server does not go on after the pong");
    require(link.withdraw(sink_key).ok(), "withdraw");
    require(sink == source, "what came back is not what was sent");
  }
  link.close();
  return true;
}

void run_client(const Options& options) {
  iwarp::Settings settings = iwarp::settings_from_environment();
  settings.nudge = options.nudge;
  Driver driver(settings);
  std::size_t pings = 0;
  std::size_t silent = 0;
  for (std::size_t i = 0; i < options.connections; ++i) {
    if (ping_connection(driver, options)) {
      pings += options.count;
    } else {
      ++silent;
    }
    while (driver.next(0)) {
    }  // of the link that is gone
  }
  std::printf("PINGS %zu SILENT %zu\n", pings, silent);
}

void run_server(const Options& options) {
  const Socket listening = tcp_socket();
  sockaddr_in address = options.address;
  socklen_t bytes = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listening.get(), any, bytes) == 0 && ::listen(listening.get(), 8) == 0, "bind and listen");
  require(::getsockname(listening.get(), any, &bytes) == 0, "getsockname");
  Driver driver(iwarp::settings_from_environment());
  auto listener = driver.port().connector()->listen(listening.get(), {8, 0}, kListenerToken);
  require(listener.has_value(), "listen");
  std::printf("LISTENING %u\n", ntohs(address.sin_port));
  std::fflush(stdout);

  driver.expect(CompletionKind::kRequest);
  std::unique_ptr<ConnectionRequest> request = (*listener)->next_request();
  const Socket socket(request->release_descriptor());
  auto accepted =
      driver.port().connector()->accept(std::move(request), socket.get(), {{}, kDepths}, kLinkToken);
  require(accepted.has_value(), "accept");
  Link& link = **accepted;
  End end(driver, link);
  driver.expect(CompletionKind::kEstablished);
  std::size_t pings = 0;
  for (; end.receive(); ++pings) {
    const RemoteSlice source = end.received().get();
    require(source.length_bytes == options.size_bytes, "the client has another size");
    std::vector<std::byte> memory(options.size_bytes);
    require(link.post_read(slice_of(memory), source, 0).ok(), "post_read");
    driver.expect(CompletionKind::kRead);
    require(memory == ping_data(pings, options.size_bytes), "what was read is not what rping writes there");
    end.send({});
    require(end.receive(), "the client does not go on after the ping");
    require(link.post_write(slice_of(memory), end.received().get(), 0).ok(), "post_write");
    driver.expect(CompletionKind::kWrite);
    end.send({});
  }
  require(pings == options.count, "the client left before its time");
  std::printf("PINGS %zu\n", pings);
}

std::size_t number_of(const char* text) {
  std::size_t number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  require(error == std::errc() && stop == end, "a number was expected");
  return number;
}

Options options_from(int argc, char** argv) {
  require(argc >= 4, "usage: rping-peer client|server ADDRESS PORT [OPTION [NUMBER]]...");
  Options options;
  options.is_server = std::strcmp(argv[1], "server") == 0;
  options.address.sin_family = AF_INET;
  require(::inet_pton(AF_INET, argv[2], &options.address.sin_addr) == 1, "ADDRESS is no IPv4 address");
  options.address.sin_port = htons(static_cast<std::uint16_t>(number_of(argv[3])));
  for (int i = 4; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--no-nudge") {
      options.nudge = false;
      continue;
    }
    require(i + 1 < argc, "an option without its number");
    const std::size_t number = number_of(argv[++i]);
    if (name == "--count") {
      options.count = number;
    } else if (name == "--size") {
      options.size_bytes = number;
    } else if (name == "--connections") {
      options.connections = number;
    } else {
      require(name == "--silence-ms", "an option that does not exist");
      options.silence_ms = number;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = options_from(argc, argv);
    options.is_server ? run_server(options) : run_client(options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rping-peer: %s\n", failure.what());
    return 1;
  }
  return 0;
}
