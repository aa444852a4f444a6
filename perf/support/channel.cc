// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/channel.h"

#include <algorithm>
#include <cerrno>

#include "perf/support/control.h"
#include "tools/common/failure.h"

namespace perf {

void Channel::post_control(std::span<const std::byte> message) {
  const std::span<std::byte> out = control_.bytes().first(message.size());
  std::copy(message.begin(), message.end(), out.begin());
  send(socket_, out, 0, queue_, control_.region());
}

void Channel::send_control(std::span<const std::byte> message) {
  post_control(message);
  queue_.expect(EXS_EVT_SEND, "cannot send a control message", kClientPatienceNs);
}

void Channel::post_control_receive() {
  recv(socket_, control_.bytes().last(kHalfBytes), queue_, control_.region());
}

std::span<const std::byte> Channel::receive_control(const std::string& what) {
  post_control_receive();
  const exs_event_t event = queue_.expect(EXS_EVT_RECV, what, kClientPatienceNs);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0)
    throw tools::Failure(what + ": the peer has closed the connection");
  if ((event.exs_evt_flags & EXS_EVF_TRUNC) != 0) throw tools::Failure(what + ": the message is too long");
  return received(event);
}

Slots& Channel::make_slots(std::size_t size_bytes, std::size_t count, MemoryKind kind) {
  slots_.emplace(size_bytes, count, kind);
  slots_->touch();
  return *slots_;
}

void Channel::accept_data(std::uint32_t count, int socket_type, const ConnectionOptions& options) {
  const Socket listener = listen_beside(socket_, socket_type, options);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (exs_accept(listener.number(), nullptr, 0, queue_.handle(), nullptr) == -1)
      tools::fail("exs_accept", errno);
  }
  send_control(encode_answer({Verdict::connect, local_port(listener)}));
  for (std::uint32_t i = 0; i < count; ++i) {
    const exs_event_t event = queue_.expect(EXS_EVT_ACCEPT, "the client does not connect", kClientPatienceNs);
    data_.emplace_back(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
  }
}

void Channel::connect_data(std::uint16_t port, std::uint32_t count, int socket_type,
                           const ConnectionOptions& options) {
  for (std::uint32_t i = 0; i < count; ++i)
    data_.push_back(connect_beside(socket_, port, socket_type, options, queue_));
}

void Channel::allow_operations(std::uint32_t count) {
  const auto allow = [count](const Socket& socket) {
    if (exs_fcntl(socket.number(), EXS_F_SET_MAX_OPS, static_cast<int>(count)) == 0) return;
    tools::fail("cannot make room for " + std::to_string(count) + " operations", errno);
  };
  allow(socket_);
  std::ranges::for_each(data_, allow);
}

}  // namespace perf
