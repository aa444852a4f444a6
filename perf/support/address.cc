// Sockets from names: listen_on and connect_to, and the names of what came of them.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <memory>

#include "perf/support/endpoint.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace perf {
namespace {

constexpr int kBacklog = 128;
// The library's own limit for a connect is 10 s.
constexpr std::int64_t kConnectPatienceNs = 15 * static_cast<std::int64_t>(tools::kNsPerSecond);

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const char* name = host.empty() ? nullptr : host.c_str();
  const int error = getaddrinfo(name, std::to_string(port).c_str(), &hints, &list);
  if (error != 0) throw tools::Failure("no address for \"" + host + "\": " + gai_strerror(error));
  return {list, &freeaddrinfo};
}

std::string printable(const sockaddr_storage& address, socklen_t length) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (getnameinfo(generic, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
      0) {
    return "unknown address";
  }
  const bool has_colons = address.ss_family == AF_INET6;
  return has_colons ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

Socket open_socket(int family, int type, const Wishes& wishes) {
  Socket socket(exs_socket(family, type, 0));
  if (socket.descriptor() == -1) tools::fail("cannot open a socket", errno);
  const int descriptor = socket.descriptor();
  if (exs_setsockopt(descriptor, SOL_EXS, EXS_SO_PROVIDER, wishes.provider.data(),
                     static_cast<socklen_t>(wishes.provider.size())) == -1) {
    if (errno == ENOTSUP)
      throw tools::Failure("provider " + wishes.provider + ": not in this build of exs; try auto");
    tools::fail("provider " + wishes.provider, errno);
  }
  if ((wishes.small_max_bytes > 0 &&
       exs_fcntl(descriptor, EXS_F_SET_SMALL_MAX, wishes.small_max_bytes) == -1) ||
      exs_fcntl(descriptor, EXS_F_SET_SEND_CREDITS, wishes.credits) == -1 ||
      exs_fcntl(descriptor, EXS_F_SET_RECV_CREDITS, wishes.credits) == -1) {
    tools::fail("cannot set the options of a socket", errno);
  }
  return socket;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;

  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
  // sin_port and sin6_port lie at the same place.
  in_port_t& port() { return reinterpret_cast<sockaddr_in*>(&storage)->sin_port; }
};

Address address_of(const Socket& socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  Address address;
  if (ask(socket.descriptor(), address.generic(), &address.length) == -1)
    tools::fail("cannot ask for an address", errno);
  return address;
}

}  // namespace

Socket listen_on(const std::string& address, std::uint16_t port, const Wishes& wishes) {
  const AddressList list = resolve(address, port, AI_PASSIVE);
  const std::string name = (address.empty() ? "any address" : address) + ", port " + std::to_string(port);
  Socket socket = open_socket(list->ai_family, SOCK_SEQPACKET, wishes);
  if (exs_bind(socket.descriptor(), list->ai_addr, list->ai_addrlen) == -1)
    tools::fail("cannot serve on " + name, errno);
  if (exs_listen(socket.descriptor(), kBacklog) == -1) tools::fail("cannot listen on " + name, errno);
  return socket;
}

Socket connect_to(const std::string& host, std::uint16_t port, const Wishes& wishes, Queue& queue) {
  const AddressList list = resolve(host, port, 0);
  const std::string name = host + ":" + std::to_string(port);
  Socket socket = open_socket(list->ai_family, SOCK_SEQPACKET, wishes);
  const std::string what = "cannot connect to " + name + " (is the server running there?)";
  if (exs_connect(socket.descriptor(), list->ai_addr, list->ai_addrlen, 0, queue.handle(), nullptr) == -1) {
    tools::fail(what, errno);
  }
  queue.expect(EXS_EVT_CONNECT, what, kConnectPatienceNs);
  return socket;
}

Socket listen_beside(const Socket& connection, int socket_type, const Wishes& wishes) {
  Address address = address_of(connection, exs_getsockname);
  address.port() = 0;
  Socket socket = open_socket(address.storage.ss_family, socket_type, wishes);
  if (exs_bind(socket.descriptor(), address.generic(), address.length) == -1)
    tools::fail("cannot serve on another port", errno);
  if (exs_listen(socket.descriptor(), kBacklog) == -1) tools::fail("cannot listen on another port", errno);
  return socket;
}

Socket connect_beside(const Socket& connection, std::uint16_t port, int socket_type, const Wishes& wishes,
                      Queue& queue) {
  Address address = address_of(connection, exs_getpeername);
  address.port() = htons(port);
  Socket socket = open_socket(address.storage.ss_family, socket_type, wishes);
  const std::string what = "cannot connect to port " + std::to_string(port) + " of the server";
  if (exs_connect(socket.descriptor(), address.generic(), address.length, 0, queue.handle(), nullptr) == -1)
    tools::fail(what, errno);
  queue.expect(EXS_EVT_CONNECT, what, kConnectPatienceNs);
  return socket;
}

std::string local_name(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (exs_getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) == -1)
    return "unknown";
  return printable(address, length);
}

std::string peer_name(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (exs_getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) == -1)
    return "unknown";
  return printable(address, length);
}

std::uint16_t local_port(const Socket& socket) {
  return ntohs(address_of(socket, exs_getsockname).port());
}

std::string provider_of(int descriptor) {
  char name[64];
  socklen_t length = sizeof name;
  if (exs_getsockopt(descriptor, SOL_EXS, EXS_SO_PROVIDER, name, &length) == -1)
    tools::fail("cannot ask for the provider", errno);
  return name;
}

}  // namespace perf
