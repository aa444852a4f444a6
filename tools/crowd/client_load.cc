// SPDX-License-Identifier: BSD-2-Clause
#include "tools/crowd/client_load.h"

#include <cerrno>
#include <system_error>

#include "tools/common/failure.h"
#include "tools/common/pattern.h"

namespace crowd {
namespace {

// Limit of connects under way, of all processes together: the listener's backlog, so that none is refused and retried.
constexpr std::uint32_t kConnectingMax = 128;

}  // namespace

ClientLoad::ClientLoad(const Settings& settings, std::uint32_t connections)
    : settings_(settings),
      queue_(static_cast<int>(kBuffersEach * connections + kEventBatch)),
      slots_(settings.size_bytes, std::size_t{kBuffersEach} * connections, tools::MemoryKind::plain),
      connections_(connections) {}

std::span<const exs_event_t> ClientLoad::wait() {
  const std::span<const exs_event_t> taken = wait_for_events(queue_, events_, kSilenceMaxNs);
  if (taken.empty()) throw tools::Failure("nothing came from the server for 30 s");
  return taken;
}

void ClientLoad::connect(std::uint16_t port, std::uint32_t count) {
  server_ = exs::cpp::Address(settings_.address, port);
  busy_ = 0;
  for (std::uint32_t begun = 0; begun < count || busy_ > 0;) {
    while (begun < count && busy_ < kConnectingMax / settings_.processes)
      start_connect(connections_[begun++]);
    if (busy_ == 0) continue;
    for (const exs_event_t& event : wait()) {
      auto& connection = *static_cast<Connection*>(event.exs_evt_ahandle);
      if (connection.socket.number() != event.exs_evt_socket) continue;
      if (event.exs_evt_errno != 0) {
        drop(connection, "exs_connect", event.exs_evt_errno);
      } else {
        --busy_;
      }
    }
  }
}

void ClientLoad::start_connect(Connection& connection) {
  ++busy_;
  std::string call = "exs_socket";
  try {
    connection.socket = exs::cpp::Socket::create();
    call = "provider " + settings_.provider;
    connection.socket.set_text_option(EXS_SO_PROVIDER, settings_.provider);
    call = "exs_connect";
    connection.socket.connect(server_, {queue_.handle(), &connection}).value();
  } catch (const std::system_error& error) {
    drop(connection, call, error.code().value());
  }
}

void ClientLoad::drop(Connection& connection, const std::string& what, int error) {
  errors_.note(what, error);
  if (connection.socket.is_open()) connection.socket.close();
  --busy_;
}

void ClientLoad::exchange() {
  busy_ = 0;
  for (Connection& connection : connections_) {
    if (!connection.socket.is_open()) continue;
    ++busy_;
    connection.sent = connection.received = 0;
    start_pair(connection);
  }
  while (busy_ > 0) {
    for (const exs_event_t& event : wait()) {
      auto& connection = *static_cast<Connection*>(event.exs_evt_ahandle);
      if (connection.socket.number() == event.exs_evt_socket) on_transfer(connection, event);
    }
  }
}

void ClientLoad::start_pair(Connection& connection) {
  const std::span<std::byte> request = buffer(connection, false);
  const std::span<std::byte> room = buffer(connection, true);
  tools::fill_pattern(request, message_number(connection));
  if (settings_.flip && &connection == connections_.data() && connection.received == 0)
    request.front() ^= std::byte{1};
  const exs::cpp::Socket::Target target{queue_.handle(), &connection};
  if (const auto receive = connection.socket.recv(room, target, slots_.region()); !receive) {
    drop(connection, "exs_recv", receive.error.value());
  } else if (const auto send = connection.socket.send(request, target, slots_.region()); !send) {
    drop(connection, "exs_send", send.error.value());
  }
}

void ClientLoad::on_transfer(Connection& connection, const exs_event_t& event) {
  const bool ended = (event.exs_evt_flags & EXS_EVF_EOF) != 0;
  if (event.exs_evt_errno != 0 || ended) {
    drop(connection, exs_evtname(event.exs_evt_type), ended ? ECONNRESET : event.exs_evt_errno);
    return;
  }
  if (event.exs_evt_type == EXS_EVT_SEND) {
    ++connection.sent;
  } else if (is_response_right(connection, event)) {
    ++connection.received;
  } else {
    drop(connection, "a response is damaged", EBADMSG);
    return;
  }
  if (connection.sent != connection.received) return;  // the other half of the pair is pending
  if (connection.received == settings_.pairs) {
    --busy_;
  } else {
    start_pair(connection);
  }
}

bool ClientLoad::is_response_right(const Connection& connection, const exs_event_t& event) const {
  const std::span message(static_cast<const std::byte*>(exs_event_buffer(&event)), exs_event_bytes(&event));
  return message.size() == settings_.size_bytes && (event.exs_evt_flags & EXS_EVF_TRUNC) == 0 &&
         !tools::first_wrong_byte(message, message_number(connection));
}

void ClientLoad::close() {
  for (Connection& connection : connections_) {
    if (!connection.socket.is_open()) continue;
    if (const auto close = connection.socket.close(); !close) errors_.note("exs_close", close.error.value());
  }
}

}  // namespace crowd
