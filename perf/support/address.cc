// Sockets from names: listen_on() and connect_to(), and the names of the results.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <system_error>

#include "perf/support/endpoint.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/sockets.h"

namespace perf {
namespace {

constexpr int kBacklog = 128;
// The library's own limit for a connect is 10 s.
constexpr std::int64_t kConnectPatienceNs = 15 * static_cast<std::int64_t>(tools::kNsPerSecond);

using exs::cpp::Address;

Socket open_socket(int family, int type, const ConnectionOptions& options) {
  Socket socket = tools::try_to("cannot open a socket", [&] { return Socket::create(type, family); });
  tools::set_provider(socket, options.provider);
  tools::try_to("cannot set the options of a socket", [&] {
    if (options.small_max_bytes > 0) socket.set_limit(EXS_F_SET_SMALL_MAX, options.small_max_bytes);
    if (options.credits == 0) return;
    socket.set_limit(EXS_F_SET_SEND_CREDITS, options.credits);
    socket.set_limit(EXS_F_SET_RECV_CREDITS, options.credits);
  });
  return socket;
}

Socket listen_at(const Address& address, int type, const ConnectionOptions& options,
                 const std::string& name) {
  Socket socket = open_socket(address.family(), type, options);
  tools::listen_at(socket, address, kBacklog, name);
  return socket;
}

Socket connect_at(const Address& address, int type, const ConnectionOptions& options, Queue& queue,
                  const std::string& what) {
  Socket socket = open_socket(address.family(), type, options);
  int error = socket.connect(address, {queue.handle()}).error.value();
  exs_event_t event{};
  if (error == 0) error = queue.take({&event, 1}, kConnectPatienceNs) == 0 ? ETIMEDOUT : event.exs_evt_errno;
  if (error != 0) throw tools::Failure(what + tools::words_of_refusal(socket, error));
  return socket;
}

Address local_address(const Socket& socket) {
  return tools::try_to("cannot ask for an address", [&] { return socket.local_address(); });
}

Address peer_address(const Socket& socket) {
  return tools::try_to("cannot ask for an address", [&] { return socket.peer_address(); });
}

}  // namespace

Socket listen_on(const std::string& address, std::uint16_t port, const ConnectionOptions& options) {
  const std::string name = (address.empty() ? "any address" : address) + ", port " + std::to_string(port);
  return listen_at(tools::resolve(address, port), SOCK_SEQPACKET, options, name);
}

Socket connect_to(const std::string& host, std::uint16_t port, const ConnectionOptions& options,
                  Queue& queue) {
  const std::string name = host + ":" + std::to_string(port);
  return connect_at(tools::resolve(host, port), SOCK_SEQPACKET, options, queue, "cannot connect to " + name);
}

Socket listen_beside(const Socket& connection, int socket_type, const ConnectionOptions& options) {
  return listen_at(local_address(connection).with_port(0), socket_type, options, "another port");
}

Socket connect_beside(const Socket& connection, std::uint16_t port, int socket_type,
                      const ConnectionOptions& options, Queue& queue) {
  return connect_at(peer_address(connection).with_port(port), socket_type, options, queue,
                    "cannot connect to port " + std::to_string(port) + " of the server");
}

std::string local_name(const Socket& socket) {
  return local_address(socket).text();
}

// The peer may have gone already.
std::string peer_name(const Socket& socket) {
  try {
    return socket.peer_address().text();
  } catch (const std::system_error&) {
    return "unknown";
  }
}

std::uint16_t local_port(const Socket& socket) {
  return local_address(socket).port();
}

std::string provider_of(const Socket& socket) {
  return tools::try_to("cannot ask for the provider", [&] { return socket.provider(); });
}

}  // namespace perf
