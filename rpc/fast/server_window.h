// A client's window in the server: mapped, looked at while there are calls, and asleep between. Thread: that of its worker, but for
// reply().
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
  // Takes the connected socket; its events go to `queue`, each with `handle`.
  ServerWindow(int socket, exs_qhandle_t queue, exs_ahandle_t handle, std::shared_ptr<Binding> client);
  ~ServerWindow();
  ServerWindow(const ServerWindow&) = delete;
  ServerWindow& operator=(const ServerWindow&) = delete;

  // Here and below, false: it has ended, and is to be given up.
  bool begin();
  // It is mapped, or rung: look at it from now on.
  bool take(const exs_event_t& event);
  // Serves what calls there are.
  bool look(Workshop& workshop, bool& has_served);
  // Nothing has come for a while. True: nor has it just now, and nobody need look until it rings.
  bool sleep();

  // The client has used the slot, this way or another. It takes the lowest that is free, so none behind the next.
  void note_slot(std::uint32_t slot) { reach_ = std::max(reach_, slot + 2); }

  std::int64_t served_ns = 0;  // when it was last rung, or had a call

  [[nodiscard]] bool has(std::uint32_t slot) const { return slot < slots_; }
  // A short reply, of a slot that it has. False: errno. Thread: any, one at a time.
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
  std::uint32_t reach_ = 1;      // slots that may have a call, from the first on
  std::byte* memory_ = nullptr;  // the client's; null: not mapped yet
  WindowPlaces places_;
  std::array<std::uint32_t, kSlotsMax> taken_{};  // of each slot, the last call's flag
  std::array<std::byte, kLineBytes> bell_;
};

}  // namespace exs::rpc
