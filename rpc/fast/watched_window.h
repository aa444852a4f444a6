// A window and its client in the server: the worker watches it while there are calls; in between both ends sleep. Thread: that of the
// worker.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "rpc/fast/binding.h"
#include "rpc/fast/server_window.h"

namespace exs::rpc {

class WatchedWindow {
 public:
  // Takes over the connected socket; its events go to `queue`, each with `handle`.
  WatchedWindow(int socket, exs_qhandle_t queue, exs_ahandle_t handle, std::shared_ptr<Binding> client);
  ~WatchedWindow();
  WatchedWindow(const WatchedWindow&) = delete;
  WatchedWindow& operator=(const WatchedWindow&) = delete;

  // Here and below: after an error the window has ended; destroy it.
  Status start_mapping() { return window_.start_mapping(); }
  // The window is mapped, or the client rang: watch it from now on.
  Status take_event(const exs_event_t& event);
  // Serves the calls that are there.
  Status look_for_calls(WorkerMemory& memory, bool& has_served);
  // Called after some time without calls. Returns true if there is still none: the worker may stop watching until the bell rings.
  [[nodiscard]] bool fall_asleep();

  std::uint64_t served_ns = 0;  // time of the last bell or call

 private:
  [[nodiscard]] bool has_call(std::uint32_t slot) const { return window_.call_flag(slot) != taken_[slot]; }

  ServerWindow window_;
  const std::shared_ptr<Binding> client_;
  std::array<std::uint32_t, kSlotsMax> taken_{};  // for each slot, the flag of the last call
};

}  // namespace exs::rpc
