// A whole link of iWARP, either role, against bytes of a peer: handshake, frames, and operations of ours between them.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "tests/fuzz/core/any_fpdu.h"
#include "tests/fuzz/fuzz.h"
#include "tests/provider/iwarp/byte_peer.h"

namespace exs::fuzz::iwarp_link {

using namespace exs::iwarp::test;

constexpr std::size_t kWindowBytes = 3000;
constexpr int kTurns = 4;

struct World {
  explicit World(Input& dice) : input(dice) {
    iwarp::Settings settings;
    settings.backend = iwarp::BackendChoice::kEpoll;
    driver = std::make_unique<PortDriver>(settings);
  }

  void turn() {
    for (int i = 0; i < kTurns; ++i) driver->turn();
  }
  void say(std::span<const std::byte> bytes) const {
    static_cast<void>(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  Bytes handshake(std::string_view key) {
    if (input.one_in(8)) return input.bytes(40);
    const unsigned flags = input.one_in(4) ? input.number<std::uint8_t>() : 0x10;
    Bytes data = from_hex("00080008");
    if (input.one_in(2)) {
      const Bytes more = input.bytes(input.below(60));
      data.insert(data.end(), more.begin(), more.end());
    }
    return mpa_frame(key, flags, input.one_in(8) ? static_cast<unsigned>(input.below(4)) : 2, data);
  }
  void be_accepted() {
    auto made = (*driver)->connector()->listen(listening.socket.get(), {16, 5'000'000'000}, kListenerToken);
    hold(made.has_value(), "listen");
    listener = std::move(*made);
    peer = connect_to(listening);
    say(handshake("MPA ID Req Frame"));
    turn();
    auto request = listener->next_request();
    if (request == nullptr) return;
    static_cast<void>(request->private_data());
    if (input.one_in(8)) return;  // refused by its destruction
    own = Socket(request->release_descriptor());
    auto accepted = (*driver)->connector()->accept(std::move(request), own.get(), {bytes_of("yes"), depths},
                                                   kServerToken);
    if (accepted) link = std::move(*accepted);
  }
  void be_asked() {
    own = tcp_socket();
    auto connected = (*driver)->connector()->connect(
        own.get(), listening.as_sockaddr(), sizeof listening.address, {bytes_of("hi"), depths}, kClientToken);
    hold(connected.has_value(), "connect");
    link = std::move(*connected);
    turn();
    peer = accept_from(listening);
    turn();
    say(handshake("MPA ID Rep Frame"));
  }
  void open_windows() {
    if (const auto window = link->expose(slice_of(writable), Access::kRemoteWrite))
      frames.write_stag = window->key;
    if (const auto window = link->expose(slice_of(readable), Access::kRemoteRead))
      frames.read_stag = window->key;
    frames.window_bytes = kWindowBytes;
    for (Bytes& room : rooms) static_cast<void>(link->post_recv(slice_of(room), 1));
  }
  void step() {
    switch (input.below(8)) {
      case 0: static_cast<void>(link->post_recv(slice_of(rooms[input.below(rooms.size())]), 1)); break;
      case 1:
        static_cast<void>(link->post_send(bytes_of("from us"),
                                          slice_of(std::span(readable).first(input.below(kWindowBytes))), 2));
        break;
      case 2: {
        const std::size_t bytes = 1 + input.below(sink.size());
        static_cast<void>(link->post_read(slice_of(std::span(sink).first(bytes)), {0x1000, bytes, 77}, 3));
        break;
      }
      case 3: static_cast<void>(link->post_write(slice_of(readable), {0x1000, kWindowBytes, 77}, 4)); break;
      case 4: hear_what_we_say(); break;
      default: say(any_fpdu(input, frames)); break;
    }
    if (!input.one_in(3)) driver->turn();
  }
  // Our reads name their sink; the peer answers by that name.
  void hear_what_we_say() {
    std::array<std::byte, 4096> room;
    const ssize_t got = ::recv(peer.get(), room.data(), room.size(), MSG_DONTWAIT);
    for (ssize_t at = 0; at + 48 <= got; at += 4) {
      const iwarp::Controls controls = iwarp::load_controls(room.data() + at);
      if (controls.tagged || controls.opcode != 1 || controls.ddp_version != 1) continue;
      frames.sink_stag = iwarp::load_read_request(room.data() + at).sink_stag;
      frames.sink_offset = 0;
    }
  }

  Input& input;
  const LinkDepths depths{16, 16, 16, 16, 4096};
  Bytes writable = Bytes(kWindowBytes), readable = Bytes(kWindowBytes, std::byte{0x5A}), sink = Bytes(2000);
  std::array<Bytes, 4> rooms{Bytes(400), Bytes(400), Bytes(400), Bytes(400)};
  FpduPeer frames;
  ListeningSocket listening;
  std::unique_ptr<PortDriver> driver;
  std::unique_ptr<PortListener> listener;
  Socket peer;
  Socket own;
  std::unique_ptr<Link> link;
};

}  // namespace exs::fuzz::iwarp_link

EXS_FUZZ_TARGET(iwarp_link) {
  using namespace exs::fuzz;
  iwarp_link::World world(input);
  input.one_in(2) ? world.be_asked() : world.be_accepted();
  world.turn();
  if (world.link != nullptr) {
    world.open_windows();
    for (int steps = 0; steps < 60 && !input.has_ended(); ++steps) world.step();
    if (input.one_in(2)) world.peer.close();
    world.turn();
    if (input.one_in(2)) world.link->close();
    world.turn();
  }
  world.link.reset();
  world.listener.reset();
  world.turn();
  hold(world.readable == Bytes(iwarp_link::kWindowBytes, std::byte{0x5A}),
       "nothing is written where the peer may only read");
}
