// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/server_window.h"

#include <cerrno>
#include <utility>

#include "rpc/channel/clock.h"
#include "rpc/channel/close_at_once.h"
#include "rpc/fast/binding.h"

namespace exs::rpc {

ServerWindow::ServerWindow(int socket, exs_qhandle_t queue, exs_ahandle_t handle,
                           std::shared_ptr<Binding> client)
    : socket_(socket), queue_(queue), handle_(handle), client_(std::move(client)) {}

ServerWindow::~ServerWindow() {
  client_->detach(*this);
  close_at_once(socket_);
}

bool ServerWindow::begin() {
  return await_bell() && exs_window_map(socket_, queue_, handle_) == 0;
}

bool ServerWindow::await_bell() {
  return exs_recv(socket_, bell_.data(), bell_.size(), 0, queue_, handle_, EXS_MHANDLE_UNREGISTERED) == 0;
}

bool ServerWindow::take(const exs_event_t& event) {
  if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0) return false;
  if (event.exs_evt_type == EXS_EVT_MAP) return take_mapped(event);
  if (event.exs_evt_type != EXS_EVT_RECV || memory_ == nullptr || !await_bell()) return false;
  SleepWord(memory_ + kServerSleepsOffset).clear();
  return true;
}

// The bell tells the client that its window is mapped.
bool ServerWindow::take_mapped(const exs_event_t& event) {
  const exs_evt_map_t& mapped = event.exs_evt_union.exs_evt_map;
  auto* const memory = static_cast<std::byte*>(mapped.exs_evt_address);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(memory) % kLineBytes == 0;
  if (!is_aligned || mapped.exs_evt_length < window_bytes(1) || memory_ != nullptr) return false;
  slots_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(kSlotsMax, (mapped.exs_evt_length - kPlacesOffset) / kPlaceBytes));
  memory_ = memory;
  places_ = WindowPlaces(memory);
  return client_->attach(*this) && ring();
}

bool ServerWindow::look(Workshop& workshop, bool& has_served) {
  for (std::uint32_t slot = 0; slot < slots_to_look_at(); ++slot) {
    const std::uint32_t flag = places_.call_flag(slot);
    if (flag == taken_[slot]) continue;
    taken_[slot] = flag;
    has_served = true;
    if (slot + 1 < slots_to_look_at()) places_.ask_for(slot + 1);
    workshop.arrived_ns = served_ns = now_ns();
    const auto message = places_.read(slot, flag, workshop.call.data());
    if (message.empty() || flag % kSlotsMax != slot || !client_->take_call(message, workshop)) return false;
  }
  return true;
}

bool ServerWindow::sleep() {
  const SleepWord sleeps(memory_ + kServerSleepsOffset);
  sleeps.set();
  for (std::uint32_t slot = 0; slot < slots_to_look_at(); ++slot) {
    if (!has_call(slot)) continue;
    sleeps.clear();
    return false;
  }
  return true;
}

bool ServerWindow::reply(std::uint32_t slot, const std::byte* message, std::size_t bytes) {
  places_.write_reply(slot, message, bytes);
  return !SleepWord(memory_ + kClientSleepsOffset).is_set() || ring();
}

bool ServerWindow::ring() {
  static constexpr std::uint32_t kOne = 1;
  return exs_send_offset(socket_, &kOne, sizeof kOne, EXS_NO_EVENT, queue_, handle_, EXS_MHANDLE_UNREGISTERED,
                         kBellOffset) == 0 ||
         errno == EAGAIN;  // enough bells are under way
}

}  // namespace exs::rpc
