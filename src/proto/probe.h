// Signs of life: PROBE asks for one, PROBE_ACK answers at once. Each side has at most one PROBE under way. A
// side that has sent CLOSE or CLOSE_ACK neither asks nor answers any more.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/proto/outbox.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class Probes {
 public:
  void ask() noexcept {
    if (ours_ == Ours::kNone) ours_ = Ours::kDue;
  }
  // PROBE or PROBE_ACK. EPROTO: a second question before our answer, or an answer unasked.
  Status on_control(wire::MessageType type);
  Status send(Outbox& outbox);

 private:
  enum class Ours : std::uint8_t { kNone, kDue, kAsked };

  Ours ours_ = Ours::kNone;
  bool answer_due_ = false;
};

}  // namespace exs::proto
