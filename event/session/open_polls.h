// The entries of exs_poll for one socket that wait for their event. Each gets one event, when the socket is
// ready for what it asks.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "event/queue/control_target.h"
#include "src/proto/operation.h"

namespace exs {

// Thread: shard.
class OpenPolls {
 public:
  explicit OpenPolls(std::shared_ptr<KernelDescriptor> number) : number_(std::move(number)) {}

  // The poll ends with ENOMEM if there is no memory for it.
  void add(const ControlTarget& target, std::uint32_t events);
  [[nodiscard]] bool empty() const noexcept { return polls_.empty(); }
  [[nodiscard]] bool asks_for(std::uint32_t event) const noexcept;

  // Answers those that asked for one of `revents`; EXS_POLLERR and EXS_POLLHUP answer all. `next_bytes`: for
  // EXS_POLLIN, what a receive would take.
  void answer(std::uint32_t revents, std::uint64_t next_bytes = 0);
  // Ends those that the selection names with ECANCELED, and returns their number.
  std::uint32_t cancel(const proto::Selection& selection);
  void cancel_all() { cancel({}); }

 private:
  struct Poll {
    ControlTarget target;
    std::uint32_t events;
  };
  void push(const Poll& poll, int error, std::uint32_t revents, std::uint64_t next_bytes = 0) const;

  const std::shared_ptr<KernelDescriptor> number_;
  std::vector<Poll> polls_;
};

}  // namespace exs
