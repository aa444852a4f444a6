// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/turns.h"

#include <algorithm>

#include "tools/common/failure.h"

namespace perf {
namespace {

// More than a client can have unread: one for each buffer.
constexpr std::uint32_t kSpareMessages = 8;

}  // namespace

TurnGiver::TurnGiver(Channel& channel, std::uint32_t buffers)
    : channel_(channel),
      messages_(channel.add_slots(kTurnBytes, buffers + kSpareMessages, MemoryKind::plain)) {}

void TurnGiver::answer(Wait wait) {
  channel_.post_control_receive();
  channel_.queue().wait_like(wait);
  channel_.post_control(encode_answer({}));
  ++posted_;
}

void TurnGiver::give(const Turn& turn) {
  if (posted_ - left_ >= messages_.count())
    throw tools::Failure("more turns are under way than there are buffers");
  const auto encoded = encode_turn(turn);
  const auto message = messages_.slot(posted_++);
  std::ranges::copy(encoded, message.begin());
  send(channel_.socket(), message, 0, channel_.queue(), messages_.region());
}

bool TurnGiver::handle(const exs_event_t& event) {
  if (event.exs_evt_socket != channel_.socket().number()) return false;
  if (event.exs_evt_errno != 0) tools::fail("the connection broke", event.exs_evt_errno);
  if (event.exs_evt_type == EXS_EVT_SEND) {
    ++left_;
  } else if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) {
    ended_ = true;
  } else {
    throw tools::Failure("the client sends what it must not");
  }
  return true;
}

TurnReceiver::TurnReceiver(Channel& channel, std::uint32_t buffers)
    : channel_(channel),
      messages_(channel.add_slots(kControlMaxBytes, buffers + kSpareMessages, MemoryKind::plain)) {
  while (posted_ < messages_.count()) post();
}

void TurnReceiver::post() {
  recv(channel_.socket(), messages_.slot(posted_++), channel_.queue(), messages_.region());
}

std::optional<Turn> TurnReceiver::turn_in(const exs_event_t& event) {
  if (event.exs_evt_type != EXS_EVT_RECV) return std::nullopt;
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) throw tools::Failure("the server has closed the connection");
  const auto message = received(event);
  if (message.size() != kTurnBytes) {
    results_ = decode_results(message);
    return std::nullopt;
  }
  const Turn turn = decode_turn(message);
  post();
  return turn;
}

PeerResults TurnReceiver::end() {
  for (const Socket& socket : channel_.data()) exs_shutdown(socket.number(), SHUT_WR);
  exs_shutdown(channel_.socket().number(), SHUT_WR);
  while (!results_) {
    exs_event_t event{};
    if (channel_.queue().take({&event, 1}, kClientPatienceNs) == 0)
      throw tools::Failure("no results from the server");
    if (event.exs_evt_socket != channel_.socket().number()) continue;
    if (event.exs_evt_errno != 0) tools::fail("no results from the server", event.exs_evt_errno);
    turn_in(event);
  }
  return *results_;
}

}  // namespace perf
