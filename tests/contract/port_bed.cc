// SPDX-License-Identifier: BSD-2-Clause
#include "tests/contract/port_bed.h"

#include "base/clock.h"

namespace exs::contract {

Connection PortBed::join(std::uint64_t token) {
  Connection made = meeting.join(kFewPosts, token, token + kServerTokens);
  Room room;
  post_receive(made.server, room);
  post_message(made.client, "first");
  far_gets(CompletionKind::kReceive, token + kServerTokens);
  near_gets(CompletionKind::kSend, token);
  return made;
}

void PortBed::exchange_messages(Connection& connection, std::uint64_t token) {
  Room near_room;
  Room far_room;
  post_receive(connection.client, near_room, 71);
  post_receive(connection.server, far_room, 72);
  post_message(connection.client, "question", 73);
  post_message(connection.server, "answer", 74);
  const Completion question = far_gets(CompletionKind::kReceive, token + kServerTokens);
  const Completion answer = near_gets(CompletionKind::kReceive, token);
  require(question.status.ok() && question.token == 72, "the question's completion");
  require(answer.status.ok() && answer.token == 71, "the answer's completion");
  require(far_room.text(question.length_bytes) == "question", "the question");
  require(near_room.text(answer.length_bytes) == "answer", "the answer");
  require(near_gets(CompletionKind::kSend, token).token == 73, "the question has left");
  require(far_gets(CompletionKind::kSend, token + kServerTokens).token == 74, "the answer has left");
}

void PortBed::settle() {
  const std::uint64_t limit_ns = monotonic_ns() + kHangLimitMs * kNsPerMs;
  for (;;) {
    near.turn();
    far.turn();
    const bool near_is_quiet = near->arm();
    if (far->arm() && near_is_quiet && !rings(near) && !rings(far)) return;
    near->disarm();
    far->disarm();
    require(monotonic_ns() < limit_ns, "the ports find no rest");
  }
}

}  // namespace exs::contract
