// The descriptor by which a program sleeps until a request of an endpoint ends. It also shows arrivals at the
// shard's ports. So an arrival wakes the waiting thread, which drives, and no other thread first.
//
// Design notes
//  1. It is an epoll set of the ports' descriptors and of an eventfd, which is raised when a request has ended.
//  2. The program sleeps as a leader does, on armed ports, but the shard does not see it go or come. So it counts as a sleeper from
//     arm() to the end of a request or the next arm(), and the engine does not park for it: it stands by while the program polls, and
//     watches as well a millisecond later.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "base/unique_fd.h"
#include "event/engine/shard.h"

namespace exs {

class Bell {
 public:
  // EMFILE and the like: no descriptor is free.
  static Result<std::unique_ptr<Bell>> make(std::shared_ptr<Shard> shard);

  // --- Thread: any ---
  [[nodiscard]] int descriptor() const noexcept { return set_.get(); }

  // --- Thread: shard ---
  // Ends the sleep that arm() began.
  void silence();
  // Arms: ring() and arrivals make the descriptor readable from now on. The bell must be silent. False: there
  // is work first, and arrivals are left to the thread that drives.
  [[nodiscard]] bool arm();
  // A request has ended.
  void ring();

 private:
  Bell(std::shared_ptr<Shard> shard, UniqueFd set, UniqueFd ended)
      : shard_(std::move(shard)), set_(std::move(set)), ended_(std::move(ended)) {}
  [[nodiscard]] bool add_ports();
  void awake();

  const std::shared_ptr<Shard> shard_;
  const UniqueFd set_;
  const UniqueFd ended_;
  std::size_t ports_ = 0;   // in the set; more are opened later
  bool is_armed_ = false;   // ring() is to raise `ended_`
  bool is_asleep_ = false;  // counted by the shard
  bool is_rung_ = false;    // `ended_` is raised
};

}  // namespace exs
