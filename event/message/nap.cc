// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/nap.h"

#include "base/check.h"

namespace exs {

Nap::Nap(std::shared_ptr<Shard> shard) : queue_(std::make_shared<EventQueue>(1, std::move(shard))) {
  queue_->set_wait_mode(EXS_WAIT_NOTIFY);
  if (queue_->reserve()) queue_->cancel_reservation();  // begin() needs no more memory
}

void Nap::begin() noexcept {
  is_rung_ = is_over_ = false;
  const bool reserved = queue_->reserve_at_once();
  EXS_CHECK(reserved);
}

void Nap::ring() {
  if (is_rung_) return;
  is_rung_ = true;
  queue_->push(exs_event_t{}, nullptr);
}

Status Nap::sleep(WaitLimit limit) {
  exs_event_t event;
  const Result<std::size_t> taken = wait_for_events(*queue_, &event, 1, 1, limit);
  if (!taken) return taken.error();
  is_over_ = *taken > 0;
  return Status();
}

void Nap::end() {
  exs_event_t event;
  if (!is_rung_) {
    queue_->cancel_reservation();
  } else if (!is_over_) {
    queue_->take(&event, 1, 1);
  }
}

}  // namespace exs
