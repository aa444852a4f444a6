// A client's window in the server: mapped, watched while there are calls, and asleep in between. Thread: that of its worker, except for
// reply().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "exs/exs.h"
#include "rpc/fast/window.h"

namespace exs::rpc {

class Binding;
struct Workshop;

class ServerWindow {
 public:
  // Takes over the connected socket; its events go to `queue`, each with `handle`.
  ServerWindow(int socket, exs_qhandle_t queue, exs_ahandle_t handle, std::shared_ptr<Binding> client);
  ~ServerWindow();
  ServerWindow(const ServerWindow&) = delete;
  ServerWindow& operator=(const ServerWindow&) = delete;

  // Here and below false means: the window has ended; destroy it.
  bool begin();
  // The window is mapped, or the client rang: watch it from now on.
  bool take(const exs_event_t& event);
  // Serves the calls that are there.
  bool look(Workshop& workshop, bool& has_served);
  // Called after some time without calls. Returns true if there is still none: the worker may stop watching until the bell rings.
  bool sleep();

  // The client has used the slot, by the window or the link. It takes the lowest free slot, so its next one is at most one higher.
  void note_slot(std::uint32_t slot) { reach_ = std::max(reach_, slot + 2); }

  std::int64_t served_ns = 0;  // time of the last bell or call

  [[nodiscard]] bool has(std::uint32_t slot) const { return slot < slots_; }
  // Writes a short reply to a slot of the window. Returns false with errno. Thread: any, one at a time.
  bool reply(std::uint32_t slot, const std::byte* message, std::size_t bytes);

 private:
  bool take_mapped(const exs_event_t& event);
  bool await_bell();
  bool ring();
  [[nodiscard]] std::uint32_t slots_to_look_at() const { return std::min(slots_, reach_); }
  [[nodiscard]] bool has_call(std::uint32_t slot) const { return places_.call_flag(slot) != taken_[slot]; }

  const int socket_;
  const exs_qhandle_t queue_;
  const exs_ahandle_t handle_;
  const std::shared_ptr<Binding> client_;
  std::uint32_t slots_ = 0;
  std::uint32_t reach_ = 1;      // number of first slots that may have a call
  std::byte* memory_ = nullptr;  // the client's; NULL: not mapped yet
  WindowPlaces places_;
  std::array<std::uint32_t, kSlotsMax> taken_{};  // for each slot, the flag of the last call
  std::array<std::byte, kLineBytes> bell_;
};

}  // namespace exs::rpc
