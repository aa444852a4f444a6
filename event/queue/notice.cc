// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/notice.h"

#include <utility>

namespace exs {

std::shared_ptr<Notice> Notice::create(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
                                       const std::shared_ptr<KernelDescriptor>& number, Keeps keeps) {
  std::shared_ptr<Notice> made(new Notice(std::move(queue), event, number, keeps));
  return made->queue_->reserve_for_notice() ? made : nullptr;
}

void Notice::report(const proto::Usage& usage) {
  queue_->report(*this, usage);
}

void Notice::end() {
  if (!queue_) return;
  queue_->end_notice(*this);
  queue_.reset();
}

}  // namespace exs
