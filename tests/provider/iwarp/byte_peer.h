// A peer whose bytes the test writes and reads itself, against a port that runs in the same thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>

#include "tests/provider/iwarp/frames.h"
#include "tests/provider/iwarp/link_pair.h"

namespace exs::iwarp::test {

inline Bytes mpa_frame(std::string_view key, unsigned flags, unsigned revision, const Bytes& private_data) {
  Bytes frame(bytes_of(key).begin(), bytes_of(key).end());
  frame.push_back(static_cast<std::byte>(flags));
  frame.push_back(static_cast<std::byte>(revision));
  append_number(frame, private_data.size(), 2);
  frame.insert(frame.end(), private_data.begin(), private_data.end());
  return frame;
}
inline Bytes mpa_request(unsigned flags = 0x10, unsigned revision = 2,
                         const Bytes& data = from_hex("00080008")) {
  return mpa_frame("MPA ID Req Frame", flags, revision, data);
}
inline Bytes mpa_reply(unsigned flags = 0x10, unsigned revision = 2,
                       const Bytes& data = from_hex("00080008")) {
  return mpa_frame("MPA ID Rep Frame", flags, revision, data);
}

// What the socket brings until `wanted` bytes are there or the stream ends, while `driver` is driven.
inline Bytes read_from(PortDriver& driver, const Socket& socket, std::size_t wanted) {
  Bytes bytes;
  for (;;) {
    driver.turn();
    std::byte room[4096];
    const ssize_t got =
        ::recv(socket.get(), room, std::min(sizeof room, wanted - bytes.size()), MSG_DONTWAIT);
    if (got > 0) bytes.insert(bytes.end(), room, room + got);
    if (bytes.size() == wanted || got == 0 || (got < 0 && errno != EAGAIN)) return bytes;
    if (got > 0) continue;
    pollfd waits[] = {{driver->wait_fd(), POLLIN, 0}, {socket.get(), POLLIN, 0}};
    require(::poll(waits, 2, kWaitLimitMs) > 0, "the port sends nothing");
  }
}
// Whether the port ends the stream and sends nothing before.
inline bool is_hung_up_on(PortDriver& driver, const Socket& socket) {
  return read_from(driver, socket, 1).empty();
}

inline Completion await(PortDriver& where, CompletionKind kind, std::uint64_t link) {
  return await({&where}, where, kind, link);
}

// A listening port and an initiator of bytes.
struct ServedBytePeer {
  explicit ServedBytePeer(const Settings& settings = {}, std::uint32_t backlog = 16) : driver(settings) {
    Result<std::unique_ptr<PortListener>> made =
        driver->connector()->listen(listening.socket.get(), {backlog, 5'000'000'000}, kListenerToken);
    require(made.has_value(), "listen");
    listener = std::move(*made);
  }
  std::unique_ptr<ConnectionRequest> request(const Bytes& frame) {
    peer = connect_to(listening);
    write_all(peer, frame);
    await(driver, CompletionKind::kRequest, kListenerToken);
    return listener->next_request();
  }
  void accept(std::unique_ptr<ConnectionRequest> answered, const LinkDepths& depths = {16, 16, 16, 16}) {
    socket = Socket(answered->release_descriptor());
    Result<std::unique_ptr<Link>> accepted = driver->connector()->accept(
        std::move(answered), socket.get(), {bytes_of("yes"), depths}, kServerToken);
    require(accepted.has_value(), "accept");
    link = std::move(*accepted);
  }
  // Shakes hands; returns the reply.
  Bytes join(const Bytes& frame, std::size_t reply_bytes) {
    accept(request(frame));
    await(driver, CompletionKind::kEstablished, kServerToken);
    return read_from(driver, peer, reply_bytes);
  }

  ListeningSocket listening;
  PortDriver driver;
  std::unique_ptr<PortListener> listener;
  Socket peer;
  Socket socket;
  std::unique_ptr<Link> link;
};

// A connecting port and a responder of bytes that has read the request.
struct AskedBytePeer {
  explicit AskedBytePeer(const Settings& settings = {}, std::size_t request_bytes = 20 + 4 + 4 + 2)
      : driver(settings) {
    Result<std::unique_ptr<Link>> connected =
        driver->connector()->connect(socket.get(), listening.as_sockaddr(), sizeof listening.address,
                                     {bytes_of("hi"), {16, 16, 16, 16}}, kClientToken);
    require(connected.has_value(), "connect");
    link = std::move(*connected);
    peer = accept_from(listening);
    request = read_from(driver, peer, request_bytes);
  }
  void join(const Bytes& reply) {
    write_all(peer, reply);
    await(driver, CompletionKind::kEstablished, kClientToken);
  }
  Status ending() { return await(driver, CompletionKind::kDisconnected, kClientToken).status; }

  ListeningSocket listening;
  PortDriver driver;
  Socket socket = tcp_socket();
  std::unique_ptr<Link> link;
  Socket peer;
  Bytes request;
};

}  // namespace exs::iwarp::test
