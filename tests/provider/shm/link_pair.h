// Two ports, joined by one link over shared memory, with a loopback TCP connection for its end.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/provider/shm/settings.h"
#include "src/provider/shm/shm.h"
#include "tests/provider/iwarp/sockets.h"
#include "tests/provider/shm/halves.h"
#include "tests/support/driven_port.h"
#include "tests/support/pattern.h"
#include "tests/support/registered_memory.h"

namespace exs::shm::test {

inline constexpr std::uint64_t kMeetingToken = 100;
inline constexpr std::uint64_t kClientToken = 1;
inline constexpr std::uint64_t kServerToken = 2;

using iwarp::test::Socket;

inline std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

using exs::test::pattern;
using Memory = exs::test::RegisteredMemory;

using exs::test::await;
using exs::test::drive_until;
using exs::test::DrivenPorts;

// A port that the test drives, by the machine's clock and what the test adds to it.
class PortDriver : public exs::test::DrivenPort {
 public:
  explicit PortDriver(const Settings& settings = {}) : DrivenPort(make_shm_provider(settings)) {
    clock = [this] { return monotonic_ns() + ahead_ns; };
  }

  std::uint64_t ahead_ns = 0;
};

// Two ends of a TCP connection.
struct TcpPair {
  TcpPair() {
    iwarp::test::ListeningSocket listening;
    client = iwarp::test::connect_to(listening);
    server = iwarp::test::accept_from(listening);
    for (const int socket : {client.get(), server.get()}) {
      require(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0, "fcntl");
    }
  }
  Socket client;
  Socket server;
};

inline LocalSlice slice_of(std::span<std::byte> memory) {
  return {memory.data(), memory.size(), {}};
}

struct PairOptions {
  Settings client;
  Settings server;
  LinkDepths depths{64, 64, 16, 16};
};

struct LinkPair {
  explicit LinkPair(const PairOptions& options = {})
      : depths(options.depths), client_port(options.client), server_port(options.server) {}

  // The server's link first, then the client's.
  void join_server() {
    Reason why;
    auto offered = client_port->upgrade()->offer(why);
    require(offered.has_value(), std::string("offer: ") + why.fact);
    offer = std::move(*offered);
    auto upgrade = server_port->upgrade()->begin(offer.invitation, kMeetingToken);
    require(upgrade.has_value(), "begin");
    require(await(both(), server_port, CompletionKind::kUpgradeReady, kMeetingToken).status.ok(), "ready");
    server = adopt(server_port, std::move(*upgrade), tcp.server, "hello", kServerToken);
  }
  void join_client() {
    client = adopt(client_port, std::move(offer.pending), tcp.client, "welcome", kClientToken);
  }
  void join() {
    join_server();
    join_client();
    // Expect: the server's link hears the client's greeting.
    client_port->flush();
    server_port.turn();
  }

  Completion client_gets(CompletionKind kind) { return await(both(), client_port, kind, kClientToken); }
  Completion server_gets(CompletionKind kind) { return await(both(), server_port, kind, kServerToken); }
  DrivenPorts both() { return {&client_port, &server_port}; }

  LinkDepths depths;
  PortDriver client_port;
  PortDriver server_port;
  TcpPair tcp;
  UpgradeOffer offer;
  std::unique_ptr<Link> client;
  std::unique_ptr<Link> server;

 private:
  std::unique_ptr<Link> adopt(PortDriver& driver, std::unique_ptr<PendingUpgrade> upgrade,
                              const Socket& socket, std::string_view words, std::uint64_t token) {
    auto link =
        driver->upgrade()->adopt(std::move(upgrade), socket.get(), {text_bytes(words), depths}, token);
    require(link.has_value(), "adopt");
    return std::move(*link);
  }
};

}  // namespace exs::shm::test
