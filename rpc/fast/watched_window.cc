// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/watched_window.h"

#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace exs::rpc {

WatchedWindow::WatchedWindow(int socket, exs_qhandle_t queue, exs_ahandle_t handle,
                             std::shared_ptr<Binding> client)
    : window_(socket, queue, handle), client_(std::move(client)) {}

WatchedWindow::~WatchedWindow() {
  client_->detach_window(window_);
}

// The bell notifies the client that its window is mapped.
Status WatchedWindow::take_event(const exs_event_t& event) {
  if (event.exs_evt_errno != 0) return Status(event.exs_evt_errno);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) return Status(ECONNRESET);
  if (event.exs_evt_type == EXS_EVT_RECV) return window_.take_bell();
  if (event.exs_evt_type != EXS_EVT_MAP) return Status(EPROTO);
  const Status taken = window_.take_memory(event.exs_evt_union.exs_evt_map);
  if (!taken.ok()) return taken;
  return client_->attach_window(window_) ? window_.ring_client() : Status(EPROTO);
}

Status WatchedWindow::look_for_calls(WorkerMemory& memory, bool& has_served) {
  for (std::uint32_t slot = 0; slot < window_.slots_to_look_at(); ++slot) {
    const std::uint32_t flag = window_.call_flag(slot);
    if (flag == taken_[slot]) continue;
    taken_[slot] = flag;
    has_served = true;
    if (slot + 1 < window_.slots_to_look_at()) window_.prefetch(slot + 1);
    memory.arrived_ns = served_ns = monotonic_ns();
    const auto message = window_.read_call(slot, flag, memory.call.data());
    if (message.empty() || flag % kSlotsMax != slot) return Status(EPROTO);
    if (const Status taken = client_->take_call(message, memory); !taken.ok()) return taken;
  }
  return {};
}

bool WatchedWindow::fall_asleep() {
  window_.set_asleep();
  for (std::uint32_t slot = 0; slot < window_.slots_to_look_at(); ++slot) {
    if (!has_call(slot)) continue;
    window_.set_awake();
    return false;
  }
  return true;
}

}  // namespace exs::rpc
