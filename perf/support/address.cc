// Sockets from names: listen_on and connect_to, and the names of what came of them.
#include <netdb.h>

#include <system_error>

#include "perf/support/endpoint.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace perf {
namespace {

constexpr int kBacklog = 128;
// The library's own limit for a connect is 10 s.
constexpr std::int64_t kConnectPatienceNs = 15 * static_cast<std::int64_t>(tools::kNsPerSecond);

using exs::cpp::Address;

Address resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const char* name = host.empty() ? nullptr : host.c_str();
  const int error = getaddrinfo(name, std::to_string(port).c_str(), &hints, &list);
  if (error != 0) throw tools::Failure("no address for \"" + host + "\": " + gai_strerror(error));
  const Address first(list->ai_addr, list->ai_addrlen);
  freeaddrinfo(list);
  return first;
}

void set_provider(Socket& socket, const std::string& provider) {
  try {
    socket.set_text_option(EXS_SO_PROVIDER, provider);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_supported)
      throw tools::Failure("provider " + provider + ": not in this build of exs; try auto");
    tools::fail("provider " + provider, error.code().value());
  }
}

Socket open_socket(int family, int type, const Wishes& wishes) {
  Socket socket = tools::try_to("cannot open a socket", [&] { return Socket::create(type, family); });
  set_provider(socket, wishes.provider);
  tools::try_to("cannot set the options of a socket", [&] {
    if (wishes.small_max_bytes > 0) socket.set_limit(EXS_F_SET_SMALL_MAX, wishes.small_max_bytes);
    socket.set_limit(EXS_F_SET_SEND_CREDITS, wishes.credits);
    socket.set_limit(EXS_F_SET_RECV_CREDITS, wishes.credits);
  });
  return socket;
}

Socket listen_at(const Address& address, int type, const Wishes& wishes, const std::string& name) {
  Socket socket = open_socket(address.family(), type, wishes);
  tools::try_to("cannot serve on " + name, [&] { socket.bind(address); });
  tools::try_to("cannot listen on " + name, [&] { socket.listen(kBacklog); });
  return socket;
}

Socket connect_at(const Address& address, int type, const Wishes& wishes, Queue& queue,
                  const std::string& what) {
  Socket socket = open_socket(address.family(), type, wishes);
  const std::error_code error = socket.connect(address, {queue.handle()});
  if (error) tools::fail(what, error.value());
  queue.expect(EXS_EVT_CONNECT, what, kConnectPatienceNs);
  return socket;
}

Address local_address(const Socket& socket) {
  return tools::try_to("cannot ask for an address", [&] { return socket.local_address(); });
}

Address peer_address(const Socket& socket) {
  return tools::try_to("cannot ask for an address", [&] { return socket.peer_address(); });
}

}  // namespace

Socket listen_on(const std::string& address, std::uint16_t port, const Wishes& wishes) {
  const std::string name = (address.empty() ? "any address" : address) + ", port " + std::to_string(port);
  return listen_at(resolve(address, port, AI_PASSIVE), SOCK_SEQPACKET, wishes, name);
}

Socket connect_to(const std::string& host, std::uint16_t port, const Wishes& wishes, Queue& queue) {
  const std::string name = host + ":" + std::to_string(port);
  return connect_at(resolve(host, port, 0), SOCK_SEQPACKET, wishes, queue,
                    "cannot connect to " + name + " (is the server running there?)");
}

Socket listen_beside(const Socket& connection, int socket_type, const Wishes& wishes) {
  return listen_at(local_address(connection).with_port(0), socket_type, wishes, "another port");
}

Socket connect_beside(const Socket& connection, std::uint16_t port, int socket_type, const Wishes& wishes,
                      Queue& queue) {
  return connect_at(peer_address(connection).with_port(port), socket_type, wishes, queue,
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
