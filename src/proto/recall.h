// Takes back adverts that the peer has not begun to read. RECALL asks; RECALL_ACK says whether the advert
// came back. Each end has at most one pending RECALL, so that two slots suffice for any number of cancels.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "src/wire/messages.h"

namespace exs::proto {

class Credits;
class Outbox;

// EPROTO: no data message with this number has come, where `next` is the next one.
Status check_recall(std::uint32_t sequence, std::uint32_t next);

// The receiver's half: the answer to the peer's RECALL. Thread: shard.
class RecallAnswer {
 public:
  // EPROTO: the last one has not been answered. `recalled`: the advert was here, and will not be read.
  Status make(std::uint32_t sequence, bool recalled);
  [[nodiscard]] bool is_due() const noexcept { return due_; }
  // Adverts whose credit comes back with it.
  [[nodiscard]] std::size_t adverts_held() const noexcept { return due_ && recalled_ ? 1 : 0; }
  // Sends it if it is due and there is room.
  Status send(Outbox& outbox, Credits& credits);

 private:
  bool due_ = false;
  bool recalled_ = false;
  std::uint32_t sequence_ = 0;
};

}  // namespace exs::proto
