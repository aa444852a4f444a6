// The calls of exs_window_map for one socket that wait for their event, and what they have mapped, which stays
// mapped until the socket's session is gone.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "event/queue/control_target.h"
#include "src/proto/operation.h"
#include "src/provider/provider.h"

namespace exs {

// Thread: shard.
class WindowMaps {
 public:
  explicit WindowMaps(std::shared_ptr<KernelDescriptor> number) : number_(std::move(number)) {}

  // The call ends with ENOMEM if there is no memory for it.
  void add(const ControlTarget& target);
  [[nodiscard]] bool are_waiting() const noexcept { return !waiting_.empty(); }
  // Ends all waiting calls with the window that the peer offers, or with the reason why there is none to map.
  void answer(Link& link, const Result<RemoteSlice>& window);
  void end_all(int error);
  // Ends those that the selection names with ECANCELED, and returns their number.
  std::uint32_t cancel(const proto::Selection& selection);

 private:
  void push(const ControlTarget& target, int error, std::span<std::byte> bytes = {}) const;

  const std::shared_ptr<KernelDescriptor> number_;
  std::vector<ControlTarget> waiting_;
  std::vector<std::shared_ptr<const void>> held_;  // with room for one more while calls wait
};

}  // namespace exs
