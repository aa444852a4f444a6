// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/credit_growth.h"

#include <algorithm>
#include <cstddef>

#include "src/log/log.h"

namespace exs::proto {

using wire::MessageType;

namespace {

constexpr std::uint8_t kFirstVersion = 2;
constexpr unsigned kPauseMax = 1024;
// Of slots, beyond which nothing is granted: what a peer can cost at most.
constexpr std::size_t kSlotsBytesMax = std::size_t{8} << 20;

std::uint16_t most_receives(const Agreement& agreement) {
  const std::size_t by_memory = kSlotsBytesMax / slot_bytes(agreement);
  const auto by_wish = std::min<std::size_t>(agreement.receive_credits_max, wire::kCreditsMax);
  return static_cast<std::uint16_t>(std::min(by_memory, by_wish));
}

}  // namespace

CreditGrowth::CreditGrowth(const Agreement& agreement)
    : receives_max_(most_receives(agreement)),
      is_spoken_(agreement.version >= kFirstVersion && agreement.kind != SocketKind::kTagged) {}

Status CreditGrowth::on_control(const wire::Message& message, bool keeps_up, Credits& credits, Slots& slots) {
  const bool is_question = message.header.type == MessageType::kMore;
  if (!is_spoken_ || (is_question ? answer_due_ : !is_asked_)) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: {}",
                 is_question ? "MORE before the answer" : "GRANT unasked");
  }
  if (!is_question) return on_grant(message.granted, credits, slots);
  answer_due_ = true;
  keeps_up_ = keeps_up;
  return {};
}

// Without room for their ACKs the credits are not used.
Status CreditGrowth::on_grant(std::uint32_t granted, Credits& credits, Slots& slots) {
  is_asked_ = false;
  if (granted > wire::kCreditsMax - std::min(credits.send_total(), wire::kCreditsMax)) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: GRANT of {} credits, {} are agreed", granted,
                 credits.send_total());
  }
  const Result<bool> has_room = granted == 0 ? false : slots.grow(granted);
  if (!has_room) return has_room.error();
  if (*has_room) {
    credits.add_sends(granted);
    pause_ = 0;
  } else {
    pause_ = static_cast<std::uint16_t>(std::min(2U * pause_ + 1, kPauseMax));
  }
  stalls_left_ = pause_;
  return {};
}

Status CreditGrowth::make_grant(std::uint32_t& granted, const Credits& credits, Slots& slots) const {
  granted = 0;
  const std::uint32_t total = credits.receive_total();
  if (!keeps_up_ || total >= receives_max_) return {};
  const std::uint32_t more = std::min(total, receives_max_ - total);
  const Result<bool> has_room = slots.grow(more);
  if (!has_room) return has_room.error();
  if (*has_room) granted = more;
  return {};
}

bool CreditGrowth::is_to_ask(bool stalled, const Credits& credits) noexcept {
  const bool begins = stalled && !was_stalled_;
  was_stalled_ = stalled;
  if (!stalled || is_asked_ || !is_spoken_ || credits.send_total() >= wire::kCreditsMax) return false;
  if (begins && stalls_left_ > 0) --stalls_left_;
  return stalls_left_ == 0;
}

Status CreditGrowth::send(Outbox& outbox, bool stalled, Credits& credits, Slots& slots) {
  if (answer_due_ && outbox.has_room()) {
    wire::Message answer;
    answer.header.type = MessageType::kGrant;
    if (const Status status = make_grant(answer.granted, credits, slots); !status.ok()) return status;
    if (const Status status = outbox.send(answer); !status.ok()) return status;
    credits.add_receives(answer.granted);
    answer_due_ = false;
  }
  if (!is_to_ask(stalled, credits) || !outbox.has_room()) return {};
  const Status status = outbox.send(MessageType::kMore);
  is_asked_ = status.ok();
  return status;
}

}  // namespace exs::proto
