// A client's window in the server: the memory that is mapped, and its bells. Thread: that of its worker, except for send_reply().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "exs/exs.h"
#include "rpc/fast/window.h"

namespace exs::rpc {

class ServerWindow {
 public:
  // Takes over the connected socket; its events go to `queue`, each with `handle`.
  ServerWindow(int socket, exs_qhandle_t queue, exs_ahandle_t handle)
      : socket_(socket), queue_(queue), handle_(handle) {}
  ~ServerWindow();
  ServerWindow(const ServerWindow&) = delete;
  ServerWindow& operator=(const ServerWindow&) = delete;

  // Here and below: after an error the window has ended.
  Status start_mapping();
  [[nodiscard]] bool is_mapped() const { return memory_ != nullptr; }
  // The client's memory is there: EXS_EVT_MAP. ring_client() tells it.
  Status take_memory(const exs_evt_map_t& mapped);
  // The client rang: it writes calls without a bell from now on.
  Status take_bell();
  Status ring_client();

  // The client has used the slot, by the window or the link. It takes the lowest free slot, so its next one is at most one higher.
  void note_slot(std::uint32_t slot) { reach_ = std::max(reach_, slot + 2); }
  // The number of first slots that may have a call.
  [[nodiscard]] std::uint32_t slots_to_look_at() const { return std::min(slots_, reach_); }
  // Another value than before: the slot has a call.
  [[nodiscard]] std::uint32_t call_flag(std::uint32_t slot) const { return places_.call_flag(slot); }
  void prefetch(std::uint32_t slot) const { places_.prefetch(slot); }
  // Copies the call whose flag has been read. Empty: it is too long.
  [[nodiscard]] std::span<const std::byte> read_call(std::uint32_t slot, std::uint32_t flag,
                                                     std::byte* into) const {
    return places_.read(slot, flag, into);
  }
  // The client rings from now on, or not any more.
  void set_asleep() const { SleepWord(memory_ + kServerSleepsOffset).set(); }
  void set_awake() const { SleepWord(memory_ + kServerSleepsOffset).clear(); }

  [[nodiscard]] bool has_slot(std::uint32_t slot) const { return slot < slots_; }
  // Writes a short reply to a slot of the window. Thread: any, one at a time.
  Status send_reply(std::uint32_t slot, const std::byte* message, std::size_t bytes);

 private:
  Status await_bell();

  const int socket_;
  const exs_qhandle_t queue_;
  const exs_ahandle_t handle_;
  std::uint32_t slots_ = 0;
  std::uint32_t reach_ = 1;
  std::byte* memory_ = nullptr;  // the client's; NULL: not mapped yet
  WindowPlaces places_;
  std::array<std::byte, kLineBytes> bell_;
};

}  // namespace exs::rpc
