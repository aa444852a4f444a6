// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/notice.h"

#include <algorithm>
#include <utility>

namespace exs {

std::shared_ptr<Notice> Notice::create(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
                                       std::shared_ptr<KernelDescriptor> number, Keeps keeps) {
  std::shared_ptr<Notice> made(new Notice(std::move(queue), event, std::move(number), keeps));
  return made->queue_->reserve_for_notice() ? made : nullptr;
}

void Notice::tell(const proto::Usage& usage) {
  queue_->tell(*this, usage);
}

void Notice::end() {
  if (!queue_) return;
  queue_->end_notice(*this);
  queue_.reset();
}

void Notice::add(const proto::Usage& usage) {
  if (keeps_ == Keeps::kLatest) untold_ = {};
  untold_.bytes += usage.bytes;
  untold_.transfers += std::min(usage.transfers, UINT32_MAX - untold_.transfers);
  untold_.last_offset = usage.last_offset;
}

exs_event_t Notice::take() {
  const proto::Usage told = std::exchange(untold_, {});
  waits_ = false;
  exs_event_t event = event_;
  exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  transfer.exs_evt_length = told.bytes;
  transfer.exs_evt_count = told.transfers;
  transfer.exs_evt_offset = told.last_offset;
  return event;
}

}  // namespace exs
