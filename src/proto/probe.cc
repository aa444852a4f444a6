// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/probe.h"

#include "src/log/log.h"

namespace exs::proto {

using wire::MessageType;

Status Probes::on_control(MessageType type) {
  const bool is_question = type == MessageType::kProbe;
  if (is_question ? answer_due_ : ours_ != Ours::kAsked) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: {}",
                 is_question ? "PROBE before the answer" : "PROBE_ACK unasked");
  }
  if (is_question) {
    answer_due_ = true;
  } else {
    ours_ = Ours::kNone;
  }
  return {};
}

Status Probes::send(Outbox& outbox) {
  if (answer_due_ && outbox.has_room()) {
    if (const Status status = outbox.send(MessageType::kProbeAck); !status.ok()) return status;
    answer_due_ = false;
  }
  if (ours_ == Ours::kDue && outbox.has_room()) {
    if (const Status status = outbox.send(MessageType::kProbe); !status.ok()) return status;
    ours_ = Ours::kAsked;
  }
  return {};
}

}  // namespace exs::proto
