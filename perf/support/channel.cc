#include "perf/support/channel.h"

#include <algorithm>
#include <cerrno>

#include "perf/support/failure.h"

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

std::span<const std::byte> Channel::receive_control(const std::string& what) {
  recv(socket_, control_.bytes().last(kHalfBytes), queue_, control_.region());
  const exs_event_t event = queue_.expect(EXS_EVT_RECV, what, kClientPatienceNs);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) throw Failure(what + ": the peer has closed the connection");
  if ((event.exs_evt_flags & EXS_EVF_TRUNC) != 0) throw Failure(what + ": the message is too long");
  return received(event);
}

Slots& Channel::make_slots(std::size_t size_bytes, std::size_t count, MemoryKind kind) {
  slots_.emplace(size_bytes, count, kind);
  slots_->touch();
  return *slots_;
}

void Channel::allow_operations(std::uint32_t count) {
  if (exs_fcntl(socket_.descriptor(), EXS_F_SET_MAX_OPS, static_cast<int>(count)) == -1) {
    fail("cannot make room for " + std::to_string(count) + " operations", errno);
  }
}

int send_flags(Kind kind) {
  return kind == Kind::normal ? EXS_NO_IMMEDIATE : 0;
}

}  // namespace perf
