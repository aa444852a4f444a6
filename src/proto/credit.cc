// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/credit.h"

#include "src/log/log.h"

namespace exs::proto {

Status Credits::take_back(std::uint32_t returned) {
  if (!may_take_back(returned)) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: peer returned {} credits, {} were spent", returned,
                 send_total_ - available_);
  }
  available_ += returned;
  return {};
}

Status Credits::data_arrived() {
  if (peer_available_ == 0) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: data message without a credit, all {} are in use",
                 receive_total_);
  }
  --peer_available_;
  return {};
}

}  // namespace exs::proto
