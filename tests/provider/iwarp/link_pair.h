// Two ports, joined by one link over loopback TCP.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <string_view>

#include "tests/provider/iwarp/port_driver.h"
#include "tests/support/pattern.h"

namespace exs::iwarp::test {

inline constexpr std::uint64_t kListenerToken = 100;
inline constexpr std::uint64_t kClientToken = 1;
inline constexpr std::uint64_t kServerToken = 2;

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline LocalSlice slice_of(std::span<std::byte> memory) {
  return {memory.data(), memory.size(), MemoryKey{1}};
}

using exs::test::pattern;

struct PairOptions {
  Settings client;
  Settings server;
  bool as_engine = false;
  LinkDepths depths{64, 64, 16, 16};
};

struct LinkPair {
  explicit LinkPair(const PairOptions& options = {})
      : depths(options.depths),
        client_port(options.client, options.as_engine),
        server_port(options.server, options.as_engine) {
    Result<std::unique_ptr<PortListener>> made =
        server_port->connector()->listen(listening.socket.get(), {16, 5'000'000'000}, kListenerToken);
    require(made.has_value(), "listen");
    listener = std::move(*made);
  }

  // Joins `client` and `server`; `before_reply` runs while the server's reply has not left.
  template <typename BeforeReply>
  void join(BeforeReply before_reply) {
    Result<std::unique_ptr<Link>> connected = client_port->connector()->connect(
        client_socket.get(), listening.as_sockaddr(), sizeof listening.address, {bytes_of("hello"), depths},
        kClientToken);
    require(connected.has_value(), "connect");
    client = std::move(*connected);
    await(both(), server_port, CompletionKind::kRequest, kListenerToken);
    std::unique_ptr<ConnectionRequest> request = listener->next_request();
    require(request != nullptr, "next_request");
    server_socket = Socket(request->release_descriptor());
    Result<std::unique_ptr<Link>> accepted = server_port->connector()->accept(
        std::move(request), server_socket.get(), {bytes_of("welcome"), depths}, kServerToken);
    require(accepted.has_value(), "accept");
    server = std::move(*accepted);
    before_reply();
    require(await(both(), client_port, CompletionKind::kEstablished, kClientToken).status.ok(), "client up");
    require(await(both(), server_port, CompletionKind::kEstablished, kServerToken).status.ok(), "server up");
  }
  void join() {
    join([] {});
  }

  Completion client_gets(CompletionKind kind) { return await(both(), client_port, kind, kClientToken); }
  Completion server_gets(CompletionKind kind) { return await(both(), server_port, kind, kServerToken); }

  // One client message to the server: opens the server's sending side.
  void first_message() {
    std::byte room[8];
    require(server->post_recv({room, sizeof room, {}}, 0).ok(), "post_recv");
    require(client->post_send(bytes_of("first"), {}, 0).ok(), "post_send");
    server_gets(CompletionKind::kReceive);
    client_gets(CompletionKind::kSend);
  }

  DrivenPorts both() { return {&client_port, &server_port}; }

  LinkDepths depths;
  ListeningSocket listening;
  Socket client_socket = tcp_socket();
  Socket server_socket;
  PortDriver client_port;
  PortDriver server_port;
  std::unique_ptr<PortListener> listener;
  std::unique_ptr<Link> client;
  std::unique_ptr<Link> server;
};

}  // namespace exs::iwarp::test
