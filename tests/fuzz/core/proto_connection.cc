// One connection whose peer says anything: messages with fields that are nearly right, raw bytes, and ends, between operations of ours.
// SPDX-License-Identifier: BSD-2-Clause
#include <deque>
#include <memory>

#include "src/wire/codec.h"
#include "tests/fuzz/core/any_message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/proto/forged.h"

namespace exs::fuzz::proto_connection {

using proto::Direction;

struct World {
  explicit World(Input& dice)
      : input(dice),
        kind(input.one_in(3) ? proto::SocketKind::kStream : proto::SocketKind::kMessage),
        forged(role(), agreement()) {
    if (input.one_in(4)) forged.end.link.let_send_now();
    if (input.one_in(4)) forged.end.link.let_read_now();
    for (Bytes& memory : peer_memory) open(memory);
    if (!input.one_in(8))
      forged.hear(proto::plain(wire::MessageType::kReady));  // an initiator has heard too much then
  }

  proto::Role role() { return input.one_in(8) ? proto::Role::kInitiator : proto::Role::kResponder; }
  proto::Agreement agreement() {
    proto::Agreement made = proto::agreement_of(1 + static_cast<std::uint32_t>(input.below(4)), 64, 2);
    made.kind = kind;
    return made;
  }
  // A window of the peer, which it may advertise.
  void open(Bytes& memory) {
    memory.resize(100, std::byte{7});
    const Access access = input.one_in(2) ? Access::kRemoteRead : Access::kRemoteWrite;
    if (const auto window = forged.peer.expose({memory.data(), memory.size(), {}}, access))
      windows.push_back(*window);
  }

  void hear() {
    numbers.hear(forged.end.link.sent());
    // A provider ends the link of a peer that sends without a receive, or more than fits.
    Bytes bytes = input.one_in(8) ? input.bytes(input.below(100)) : any_message(input, windows, numbers);
    if (forged.end.link.receives_posted() == 0 ||
        bytes.size() > proto::link_depths(forged.end.connection.agreement()).message_bytes)
      return;
    forged.end.link.inject(std::move(bytes));
    forged.end.link.deliver_message();
  }
  void post() {
    const bool is_send = input.one_in(2);
    bool& is_persistent = persists[is_send ? 0 : 1];
    // A session admits nothing beside a persistent operation of that direction.
    const bool is_over = ended(is_send) == posted[is_send ? 0 : 1];
    if (is_persistent && !is_over) return;
    Bytes& memory = operations.emplace_back(1 + input.below(150), std::byte{9});
    proto::Operation operation;
    operation.memory = {memory.data(), memory.size(), {}};
    operation.never_immediate = input.one_in(3);
    operation.more = is_send && input.one_in(8);
    operation.wait_all = !is_send && kind == proto::SocketKind::kStream && input.one_in(4);
    operation.tag.handle = &memory;
    if (kind == proto::SocketKind::kMessage) {
      operation.persistent = input.one_in(4);
      operation.notify = operation.persistent && input.one_in(2);
      operation.at_offset = !operation.persistent && input.one_in(6);
      operation.offset = operation.at_offset ? input.below(120) : 0;
      operation.never_immediate |= operation.persistent || operation.at_offset;
      operation.mappable = !is_send && operation.persistent && input.one_in(2);
    }
    is_persistent = operation.persistent;
    ++posted[is_send ? 0 : 1];
    is_send ? forged.end.connection.post_send(operation) : forged.end.connection.post_receive(operation);
  }
  [[nodiscard]] std::size_t ended(bool is_send) const {
    return is_send ? forged.end.sends.size() : forged.end.receives.size();
  }
  void cancel() {
    const auto direction = input.one_in(2) ? Direction::kSend : Direction::kReceive;
    proto::Selection selection;
    if (!operations.empty() && input.one_in(2))
      selection = {.any_handle = false, .handle = &operations[input.below(operations.size())]};
    forged.end.connection.cancel(direction, selection, ECANCELED);
  }
  void step() {
    switch (input.below(16)) {
      case 0:
      case 1:
      case 2: post(); break;
      case 3: cancel(); break;
      case 4: static_cast<void>(forged.end.link.finish_send()); break;
      case 5: static_cast<void>(forged.end.link.begin_read() && forged.end.link.finish_read()); break;
      case 6: end_something(); break;
      case 7: forged.end.connection.flush(); break;
      case 8: forged.end.connection.probe(); break;
      default: hear(); break;
    }
    forged.drain();
  }
  void end_something() {
    proto::Connection& connection = forged.end.connection;
    switch (input.below(6)) {
      case 0: connection.shutdown_sending(); break;
      case 1: connection.shutdown_receiving(); break;
      case 2: connection.close(); break;
      case 3: connection.end_burst(); break;
      case 4: connection.set_nodelay(input.one_in(2)); break;
      default: static_cast<void>(connection.mappable_window()); break;
    }
  }
  [[nodiscard]] bool is_over() const { return !forged.end.failures.empty() || forged.end.closed_count > 0; }

  Input& input;
  const proto::SocketKind kind;
  std::array<Bytes, 3> peer_memory;
  std::deque<Bytes> operations;
  std::array<std::size_t, 2> posted{};  // sends, receives
  std::array<bool, 2> persists{};       // the last of them
  std::vector<RemoteSlice> windows;
  MessageNumbers numbers;
  proto::Forged forged;  // dies before the memory
};

}  // namespace exs::fuzz::proto_connection

EXS_FUZZ_TARGET(proto_connection) {
  using namespace exs::fuzz;
  proto_connection::World world(input);
  hold(world.forged.started, "the connection starts");
  for (int steps = 0; steps < 200 && !input.has_ended() && !world.is_over(); ++steps) world.step();
  if (!world.is_over()) world.forged.end.connection.abort(exs::Status(ETIMEDOUT));
  const auto& end = world.forged.end;
  hold(!end.late, "no outcome comes after the end");
  hold(end.sends.size() == world.posted[0] && end.receives.size() == world.posted[1],
       "each operation has one outcome");
  for (const auto* operations : {&end.sends, &end.receives}) {
    for (const auto& [direction, operation, outcome] : *operations) {
      const bool fits = outcome.length_bytes <= operation.memory.length_bytes;
      hold(operation.persistent || fits, "no operation moves more than it has");
    }
  }
  for (const auto& violation : world.forged.violations)
    hold(violation == "read outside every window", violation.c_str());
}
