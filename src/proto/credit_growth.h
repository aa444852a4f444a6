// More credits than agreed. Over a distance all credits are used up long before the first comes back, however fast both ends are. So an
// end whose sends wait for a credit asks for more (MORE). The other end answers (GRANT): if its receives keep up, it makes room for as
// many messages again, up to a bound of its own. So the credits follow the product of bandwidth and delay, as TCP's window does: they
// double once a round trip until no send waits. Where no more are granted, an end asks more and more seldom.
//
// Both ends make room first (slots.h): the one that grants for data messages, the one that asks for their ACKs. An end that has sent
// CLOSE or CLOSE_ACK neither asks nor answers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "src/proto/outbox.h"
#include "src/proto/slots.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class CreditGrowth {
 public:
  explicit CreditGrowth(const Agreement& agreement);

  // MORE or GRANT. `keeps_up`: no message waits for a receive. EPROTO: not spoken on this connection, a question before our answer,
  // an answer unasked, or too many granted.
  Status on_control(const wire::Message& message, bool keeps_up, Credits& credits, Slots& slots);
  // `stalled`: a send waits for a credit.
  Status send(Outbox& outbox, bool stalled, Credits& credits, Slots& slots);

 private:
  Status on_grant(std::uint32_t granted, Credits& credits, Slots& slots);
  [[nodiscard]] Status make_grant(std::uint32_t& granted, const Credits& credits, Slots& slots) const;
  [[nodiscard]] bool is_to_ask(bool stalled, const Credits& credits) noexcept;

  // Small, as each connection has them.
  const std::uint16_t receives_max_;
  std::uint16_t pause_ = 0;        // stalls without a question, after an answer without credits
  std::uint16_t stalls_left_ = 0;  // of the pause
  const bool is_spoken_ : 1;
  bool is_asked_ : 1 = false;  // ours awaits its answer
  bool answer_due_ : 1 = false;
  bool keeps_up_ : 1 = false;     // as the peer's question came
  bool was_stalled_ : 1 = false;  // when it was looked at last
};

}  // namespace exs::proto
