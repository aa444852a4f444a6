// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message/persistent_receive.h"

namespace exs::proto {

void PersistentReceive::activate(const Operation& operation) {
  window_.hold(operation);
  bytes_ = 0;
}

Result<Operation> PersistentReceive::target(const ArrivedMessage& message) const {
  Operation target = window_.operation();
  target.offset = message.at_offset ? message.target_offset : 0;
  const std::uint64_t size = target.memory.length_bytes;
  if (message.at_offset && (target.offset > size || message.length_bytes > size - target.offset))
    return failure(ERANGE);
  target.memory.address += target.offset;
  target.memory.length_bytes -= target.offset;
  return target;
}

void PersistentReceive::add_part(std::uint64_t bytes, bool reads) noexcept {
  bytes_ += bytes;
  if (reads) ++parts_reading_;
}

void PersistentReceive::revoke(int error) {
  if (window_.is_advertised()) {
    window_.revoke(error);
  } else if (is_active()) {
    end({error, 0, 0});
  }
}

void PersistentReceive::end(Outcome outcome) {
  deliveries_.make_room(1);
  window_.forget();
  outcome.length_bytes += bytes_;
  deliveries_.add_end(window_.operation(), outcome);
}

void PersistentReceive::fail(OutcomeSink& sink, Outcome outcome) {
  window_.forget();
  outcome.length_bytes += bytes_;
  sink.completed(Direction::kReceive, window_.operation(), outcome);
}

Cancelled PersistentReceive::cancel(const Selection& selection, int error) {
  if (!is_active() || !selection.matches(window_.operation())) return {};
  const Cancelled cancelled{1, is_advertised() ? 1U : 0U};
  revoke(error);
  return cancelled;
}

Status PersistentReceive::on_control(const wire::Message& message) {
  Outcome outcome;
  const Status status = window_.on_control(message, {0, 0, kEndOfStream}, outcome);
  if (status.ok() && !is_active()) end(outcome);
  return status;
}

Status PersistentReceive::send_control(Outbox& outbox, bool may_offer) {
  if (!outbox.has_room()) return {};
  if (window_.revoke_is_due()) return window_.send_revoke(outbox);
  if (!may_offer || !is_active() || is_advertised()) return {};
  if (const Status status = window_.expose(); !status.ok()) {
    if (status.error() == ENOTCONN) return status;
    end({status.error(), 0, 0});
    return {};
  }
  return window_.send_offer(outbox);
}

}  // namespace exs::proto
