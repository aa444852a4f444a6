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
  CreditGrowth(const Agreement& agreement, Credits& credits, Slots& slots);

  // MORE or GRANT. `keeps_up`: no message waits for a receive. EPROTO: not spoken on this connection, a question before our answer,
  // an answer unasked, or too many granted.
  Status on_control(const wire::Message& message, bool keeps_up);
  // `stalled`: a send waits for a credit.
  Status send(Outbox& outbox, bool stalled);

 private:
  Status on_grant(std::uint32_t granted);
  [[nodiscard]] Status make_grant(std::uint32_t& granted);
  [[nodiscard]] bool is_to_ask(bool stalled) noexcept;

  Credits& credits_;
  Slots& slots_;
  const bool is_spoken_;
  const std::uint32_t receives_max_;
  bool is_asked_ = false;  // ours awaits its answer
  bool answer_due_ = false;
  bool keeps_up_ = false;          // as the peer's question came
  bool was_stalled_ = false;       // when it was looked at last
  std::uint32_t pause_ = 0;        // stalls without a question, after an answer without credits
  std::uint32_t stalls_left_ = 0;  // of the pause
};

}  // namespace exs::proto
