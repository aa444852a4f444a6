// As proto_connection, of a connection for messages with tags, whose inbox keeps what no receive has matched.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "src/wire/codec.h"
#include "tests/fuzz/core/any_message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/proto/connection_pair.h"
#include "tests/proto/tagged.h"

namespace exs::fuzz::proto_tagged {

using proto::TaggedTestEnd;

struct World {
  explicit World(Input& dice)
      : input(dice),
        agreement(small_agreement()),
        end(violations, input.one_in(8) ? proto::Role::kInitiator : proto::Role::kResponder, agreement),
        peer(violations, proto::link_depths(proto::mirrored(agreement))) {
    proto::FakeLink::join(end.link, peer);
    if (input.one_in(4)) end.link.let_send_now();
    end.tries_short = true;
    if (input.one_in(4)) end.link.let_read_now();
    for (Bytes& memory : peer_memory) {
      memory.resize(100, std::byte{7});
      if (const auto window = peer.expose({memory.data(), memory.size(), {}}, Access::kRemoteRead))
        windows.push_back(*window);
    }
    hold(end.connection.start().ok(), "the connection starts");
    if (!input.one_in(8)) be_ready();
  }

  // The first message of an initiator. Where we are that, it is one too many.
  void be_ready() {
    wire::FixedBytes room;
    const auto ready = wire::encode({}, room);
    end.link.inject(Bytes(ready.begin(), ready.end()));
    end.link.deliver_message();
    while (end.handle_one()) continue;
  }
  // Windows so small that a few messages fill them.
  proto::Agreement small_agreement() {
    proto::Agreement made = proto::tagged_agreement(1 + static_cast<std::uint32_t>(input.below(4)));
    made.tagged.eager_bytes_in = made.tagged.eager_bytes_out = 64 + 64 * input.below(3);
    return made;
  }
  void hear() {
    numbers.hear(end.link.sent());
    Bytes bytes = input.one_in(8) ? input.bytes(input.below(100)) : any_message(input, windows, numbers);
    if (end.link.receives_posted() == 0 || bytes.size() > proto::link_depths(agreement).message_bytes) return;
    end.link.inject(std::move(bytes));
    end.link.deliver_message();
  }
  void step() {
    switch (input.below(16)) {
      case 0:
      case 1: end.send(input.below(4), Bytes(input.below(120), std::byte{3}), input.one_in(3)); break;
      case 2:
      case 3: end.receive(input.below(4), input.below(120)); break;
      case 4: static_cast<void>(end.link.finish_send()); break;
      case 5: static_cast<void>(end.link.begin_read() && end.link.finish_read()); break;
      case 6: end_something(); break;
      default: hear(); break;
    }
    while (end.handle_one()) continue;
  }
  void end_something() {
    switch (input.below(6)) {
      case 0: end.connection.close(); break;
      case 1: end.connection.probe(); break;
      case 2: end.connection.set_eager_max(input.below(49)); break;
      case 3:
        if (!end.waiting.empty() && end.waiting.front().is_advert) {
          const std::uint32_t advert = end.waiting.front().advert;
          end.waiting.pop_front();
          end.connection.refuse_kept(advert);
        }
        break;
      case 4: end.connection.cancel(proto::Direction::kSend, {}, ECANCELED); break;
      default: end.connection.flush(); break;
    }
  }
  [[nodiscard]] bool is_over() const { return !end.failures.empty() || end.closes > 0; }

  Input& input;
  const proto::Agreement agreement;
  std::array<Bytes, 3> peer_memory;
  std::vector<RemoteSlice> windows;
  MessageNumbers numbers;
  std::vector<std::string> violations;
  TaggedTestEnd end;
  proto::FakeLink peer;
};

}  // namespace exs::fuzz::proto_tagged

EXS_FUZZ_TARGET(proto_tagged) {
  using namespace exs::fuzz;
  proto_tagged::World world(input);
  for (int steps = 0; steps < 200 && !input.has_ended() && !world.is_over(); ++steps) {
    world.step();
    hold(world.end.bytes_held() <= world.agreement.tagged.eager_bytes_in,
         "no more is kept than the window allows");
  }
  if (!world.is_over()) world.end.connection.abort(exs::Status(ETIMEDOUT));
  for (const auto& send : world.end.sends) hold(send.has_ended, "each send has ended");
  for (const auto& violation : world.violations)
    hold(violation == "read outside every window", violation.c_str());
}
