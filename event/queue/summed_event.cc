// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/summed_event.h"

#include <algorithm>
#include <utility>

namespace exs {

void SummedEvent::add(const proto::Usage& usage) {
  if (keeps_ == Keeps::kLatest) unreported_ = {};
  unreported_.bytes += usage.bytes;
  unreported_.transfers += std::min(usage.transfers, UINT32_MAX - unreported_.transfers);
  unreported_.last_offset = usage.last_offset;
}

exs_event_t SummedEvent::take() {
  const proto::Usage reported = std::exchange(unreported_, {});
  waits_ = false;
  exs_event_t event = event_;
  exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  transfer.exs_evt_length = reported.bytes;
  transfer.exs_evt_count = reported.transfers;
  transfer.exs_evt_offset = reported.last_offset;
  return event;
}

}  // namespace exs
