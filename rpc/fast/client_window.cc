// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/client_window.h"

#include <bit>
#include <cerrno>

#include "rpc/channel/close_socket.h"
#include "rpc/fast/greeting.h"

namespace exs::rpc {

std::unique_ptr<ClientWindow> ClientWindow::make(int socket, exs_qhandle_t queue, std::uint32_t slots,
                                                 std::uint64_t token) {
  std::unique_ptr<ClientWindow> made(new (std::nothrow) ClientWindow(socket, queue, slots));
  if (made == nullptr) close_at_once(socket);
  if (made == nullptr || !made->offer(token).ok()) return nullptr;
  return made;
}

// The server's mapping outlives the connection and our own, so there is nothing to wait for.
ClientWindow::~ClientWindow() {
  close_at_once(socket_);
  exs_free(memory_);
}

Status ClientWindow::offer(std::uint64_t token) {
  const std::size_t bytes = window_bytes(slots_);
  memory_ = static_cast<std::byte*>(exs_alloc(bytes, &region_));
  if (memory_ == nullptr) return Status(errno);
  places_ = WindowPlaces(memory_);
  WindowHello hello;
  hello.token = token;
  std::array<std::byte, kFrameBytes + sizeof hello> message;
  put_frame({FrameType::kHello, sizeof hello, false}, message.data());
  std::memcpy(message.data() + kFrameBytes, &hello, sizeof hello);
  if (exs_recv(socket_, memory_, bytes, EXS_PERSISTENT | EXS_MAPPABLE | EXS_NOTIFY, queue_, this, region_) !=
      0)
    return Status(errno);
  return kernel_status(exs_send(socket_, message.data(), message.size(), EXS_NO_EVENT, queue_, this,
                                EXS_MHANDLE_UNREGISTERED));
}

bool ClientWindow::is_end(const exs_event_t& event) {
  return event.exs_evt_type != EXS_EVT_PEER_WRITE || event.exs_evt_errno != 0;
}

Status ClientWindow::send_call(std::uint32_t slot, const std::byte* message, std::size_t bytes) {
  places_.write_call(slot, message, bytes);
  if (!SleepWord(memory_ + kServerSleepsOffset).is_set()) return {};
  static constexpr std::byte kBell{1};
  const int rung =
      exs_send(socket_, &kBell, sizeof kBell, EXS_NO_EVENT, queue_, this, EXS_MHANDLE_UNREGISTERED);
  return rung == 0 || errno == EAGAIN ? Status() : Status(errno);  // EAGAIN: enough bells are under way
}

bool ClientWindow::look(unsigned rounds) const {
  for (; rounds > 0; --rounds) {
    for (std::uint64_t left = expected_.load(std::memory_order_relaxed); left != 0; left &= left - 1)
      if (has_reply(static_cast<std::uint32_t>(std::countr_zero(left)))) return true;
    pause_looking();
  }
  return false;
}

std::span<const std::byte> ClientWindow::receive_reply() {
  for (std::uint64_t left = expected_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::uint32_t flag = places_.reply_flag(slot);
    if (flag == taken_[slot]) continue;
    taken_[slot] = flag;
    if (left != bit(slot)) places_.prefetch(static_cast<std::uint32_t>(std::countr_zero(left & (left - 1))));
    const auto message = places_.read(slot, flag, reply_.data());
    // A length that no message has, so the caller refuses it.
    return message.empty() ? std::span<const std::byte>(reply_.data(), 1) : message;
  }
  return {};
}

bool ClientWindow::begin_sleep() {
  SleepWord(memory_ + kClientSleepsOffset).set();
  return !look(1);
}

void ClientWindow::end_sleep() {
  SleepWord(memory_ + kClientSleepsOffset).clear();
}

}  // namespace exs::rpc
