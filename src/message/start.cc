// SPDX-License-Identifier: BSD-2-Clause
#include "src/message/start.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/api/bind.h"
#include "src/provider/own_sockets.h"
#include "src/wire/messages.h"

namespace exs {
namespace {

// How many of those a peer may send ahead.
constexpr std::uint32_t kCredits = 64;
constexpr int kConnectMs = 10'000;
constexpr int kKeepAliveMs = 15'000;

Status no_address(int rank) {
  return refuse(EINVAL, "the address of rank {} is none: give \"host:port\"", rank);
}

Result<UniqueFd> open_socket(int family) {
  const auto number = OwnSockets::open(
      [family] { return kernel::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (!number) return failure(number.error());
  return UniqueFd(*number);
}

// How much a process keeps for others, of messages that no receive has matched: shares of one limit, whatever the job's size.
constexpr std::uint64_t kEagerPool = 64 << 20;
constexpr std::uint64_t kAdvertsPool = 1 << 19;
std::uint8_t share_log2(std::uint64_t pool, int size, std::uint8_t least, std::uint8_t most) {
  const auto share = static_cast<std::uint8_t>(std::bit_width(pool / static_cast<unsigned>(size)) - 1);
  return std::clamp(share, least, most);
}

SocketOptions socket_options(const Library& library, const exm_config_t& config, int peers) {
  SocketOptions options(proto::SocketKind::kTagged);
  options.provider = library.provider_wish();
  options.wishes.small_bytes = kEagerMax + wire::kLabelBytesMax;
  options.wishes.send_credits = options.wishes.receive_credits = kCredits;
  options.wishes.introduction.rank = static_cast<std::uint32_t>(config.rank);
  options.wishes.introduction.eager_bytes_log2 = share_log2(kEagerPool, peers, 16, 20);
  options.wishes.introduction.adverts_log2 = share_log2(kAdvertsPool, peers, 8, 15);
  std::memcpy(options.wishes.introduction.job_key.data(), config.key, sizeof config.key);
  options.connect_timeout_ms =
      config.connect_timeout_ms == 0 ? kConnectMs : static_cast<int>(config.connect_timeout_ms);
  options.keepalive_ms = kKeepAliveMs;
  return options;
}

// Threads that wait look for a moment before they sleep, unless there are more processes than processors.
std::uint64_t spin_ns_of(int size) {
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned>(size) <= processors ? EventQueue::kDefaultSpinNs : 0;
}

// A socket that listens at the address, as exs_socket, exs_bind and exs_listen make one.
Result<std::shared_ptr<Socket>> listening_socket(const sockaddr_storage& address,
                                                 const SocketOptions& options) {
  auto opened = open_socket(address.ss_family);
  if (!opened) return failure(opened.error());
  const auto socket =
      std::make_shared<Socket>(KernelDescriptor::own(std::move(*opened)), address.ss_family, options);
  LockGuard guard(socket->mutex);
  if (const Status status = bind_socket(*socket, *as_sockaddr(address)); !status.ok()) return failure(status);
  if (const Status status = start_listening(*socket, SOMAXCONN); !status.ok()) return failure(status);
  return socket;
}

Status start_to_listen(Endpoint& endpoint, Socket& socket) {
  const AcceptorOptions options{.session = endpoint.options().session, .backlog = SOMAXCONN};
  LockGuard guard(socket.mutex);
  return endpoint.listen(std::make_shared<TaggedAcceptor>(endpoint.shard(), socket.descriptor(),
                                                          std::move(socket.listening_points()), options));
}

}  // namespace

// "host:port", the host a name or a number, one of IPv6 in brackets.
Result<sockaddr_storage> address_of(const char* text, int rank) {
  if (text == nullptr) return failure(null_argument());
  const std::string whole(text);
  const std::size_t colon = whole.rfind(':');
  if (colon == std::string::npos || colon + 1 == whole.size()) return failure(no_address(rank));
  std::string host = whole.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), whole.c_str() + colon + 1, &hints, &found) != 0)
    return failure(no_address(rank));
  const sockaddr_storage address = copy_of(*found->ai_addr);
  freeaddrinfo(found);
  return address;
}

Result<Preparation> prepare(const Library& library, const exm_config_t& config, int peers,
                            const sockaddr_storage* own) {
  const SocketOptions sockets = socket_options(library, config, peers);
  Preparation made;
  EndpointOptions& options = made.options;
  options.number = static_cast<std::uint32_t>(config.rank);
  options.session = sockets.session(kConnectMs);
  options.eager_bytes = config.eager_bytes;
  options.spin_ns = spin_ns_of(peers);
  options.open_socket = open_socket;
  if (own == nullptr) return made;
  auto listening = listening_socket(*own, sockets);
  if (!listening) return failure(listening.error());
  made.listening = std::move(*listening);
  return made;
}

Result<sockaddr_storage> own_address(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (kernel::getsockname(listening.number(), as_sockaddr(address), &length) != 0) return failure(errno);
  return address;
}

Result<std::shared_ptr<Endpoint>> start(Library& library, Preparation prepared) {
  const auto shard = library.next_shard();
  if (!shard) return failure(shard.error());
  if (const Status status = (*shard)->start_engine(); !status.ok()) return failure(status);
  auto endpoint = std::make_shared<Endpoint>(*shard, std::move(prepared.options));
  if (!prepared.listening) return endpoint;
  if (const Status status = start_to_listen(*endpoint, *prepared.listening); !status.ok())
    return failure(status);
  return endpoint;
}

}  // namespace exs
