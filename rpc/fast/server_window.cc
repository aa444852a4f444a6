// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/server_window.h"

#include <cerrno>

#include "base/check.h"
#include "rpc/channel/close_socket.h"

namespace exs::rpc {

ServerWindow::~ServerWindow() {
  close_at_once(socket_);
}

Status ServerWindow::start_mapping() {
  if (const Status awaited = await_bell(); !awaited.ok()) return awaited;
  return kernel_status(exs_window_map(socket_, queue_, handle_));
}

Status ServerWindow::await_bell() {
  return kernel_status(
      exs_recv(socket_, bell_.data(), bell_.size(), 0, queue_, handle_, EXS_MHANDLE_UNREGISTERED));
}

Status ServerWindow::take_memory(const exs_evt_map_t& mapped) {
  auto* const memory = static_cast<std::byte*>(mapped.exs_evt_address);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(memory) % kLineBytes == 0;
  if (!is_aligned || mapped.exs_evt_length < window_bytes(1) || is_mapped()) return Status(EPROTO);
  slots_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(kSlotsMax, (mapped.exs_evt_length - kPlacesOffset) / kPlaceBytes));
  memory_ = memory;
  places_ = WindowPlaces(memory);
  return {};
}

Status ServerWindow::take_bell() {
  if (!is_mapped()) return Status(EPROTO);
  if (const Status awaited = await_bell(); !awaited.ok()) return awaited;
  set_awake();
  return {};
}

Status ServerWindow::send_reply(std::uint32_t slot, const std::byte* message, std::size_t bytes) {
  EXS_CHECK(has_slot(slot) && bytes <= kInlineBytes);
  places_.write_reply(slot, message, bytes);
  return SleepWord(memory_ + kClientSleepsOffset).is_set() ? ring_client() : Status();
}

Status ServerWindow::ring_client() {
  static constexpr std::uint32_t kOne = 1;
  const int rung = exs_send_offset(socket_, &kOne, sizeof kOne, EXS_NO_EVENT, queue_, handle_,
                                   EXS_MHANDLE_UNREGISTERED, kBellOffset);
  return rung == 0 || errno == EAGAIN ? Status() : Status(errno);  // EAGAIN: enough bells are under way
}

}  // namespace exs::rpc
