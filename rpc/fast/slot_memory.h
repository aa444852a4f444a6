// Memory for one short message of each slot, from which the message leaves without a copy. A place is free when the slot's call is
// answered; in the server, when the client uses the slot again. Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>

#include "base/status.h"
#include "exs/exs.h"
#include "rpc/channel/frame.h"

namespace exs::rpc {

class SlotMemory {
 public:
  SlotMemory() = default;
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  Status allocate(std::size_t slots);
  [[nodiscard]] std::byte* frame(std::size_t slot) const { return memory_ + slot * kStride; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }

 private:
  static constexpr std::size_t kStride = (kFrameBytes + kInlineBytes + 63) / 64 * 64;

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
};

}  // namespace exs::rpc
