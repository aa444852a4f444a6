// A silent service: what silence proves, and how a newer owner is found.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "service/node/peer.h"

namespace exs::svc {
namespace {

// After a link has held this long, one mistake is forgiven.
constexpr std::uint64_t kCalmNs = 60'000 * kNsPerMs;

}  // namespace

// The link has gone. Whether the service was really dead shows when the flow is open again.
void Peer::note_silence(State before, std::uint64_t now) {
  sign_due_ns_ = kNeverNs;
  if (before == State::kOpen) {
    silent_instance_ = link_->was_silent() ? sending_.instance() : 0;
    if (silences_.mistakes > 0 && time_left(now, opened_ns_) > kCalmNs) --silences_.mistakes;
    return;
  }
  if (before == State::kLinking) patience_.look(linked_by_ns_, now);
  if (!link_->was_silent() || !link_->is_on_this_host()) return;
  // The kernel accepted the connection for a process that exists.
  silences_.connects = std::min(silences_.connects + 1, PeerHost::kConnectDoublingsMax);
  patience_.is_there(now);
}

// Called when the flow is open.
void Peer::watch_signs() {
  opened_ns_ = boottime_ns();
  silences_.connects = 0;
  const bool was_mistaken =
      silent_instance_ == sending_.instance() && link_->address_key() == broken_ && !link_->is_on_this_host();
  silent_instance_ = 0;
  if (was_mistaken) silences_.mistakes = std::min(silences_.mistakes + 1, Link::kDoublingsMax);
  link_->be_patient(silences_.mistakes);
  sign_due_ns_ = link_->is_on_this_host() ? time_after(opened_ns_, host_.silent_ns()) : kNeverNs;
  if (sign_due_ns_ != kNeverNs) host_.wake_at(sign_due_ns_);
}

// Silence ends no link of this host. But if the service's process is stopped, another host may have taken the service over.
void Peer::look_for_signs(std::uint64_t now) {
  const bool is_late = time_left(now, sign_due_ns_) >= Patience::kLateNs;  // a sign may be in the queue
  const bool is_silent = state_ == State::kOpen && has_work() && !gave_sign_ && !is_late;
  gave_sign_ = false;
  sign_due_ns_ = time_after(now, host_.silent_ns());
  if (!is_silent || beyond_ != 0) return;
  beyond_ = host_.find_beyond(config_.target, sign_due_ns_);
  if (beyond_ == 0) sign_due_ns_ = kNeverNs;
}

void Peer::found_beyond(const std::optional<Record>& record) {
  beyond_ = 0;
  const bool is_another = record && record->instance != sending_.instance() && record->epoch > place_epoch_;
  if (state_ != State::kOpen || gave_sign_ || !is_another) return;
  redirected_to_.assign(record->addresses.rbegin(), record->addresses.rend());
  link_->end();
}

}  // namespace exs::svc
