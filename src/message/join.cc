// exm_init, exm_finalize and what tells of the job.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <thread>

#include "src/api/bind.h"
#include "src/api/listen.h"
#include "src/base/clock.h"
#include "src/base/kernel.h"
#include "src/base/socket_address.h"
#include "src/message/card.h"
#include "src/message/ep.h"
#include "src/provider/own_sockets.h"
#include "src/wire/messages.h"

namespace exs {
namespace {

// Longest message that travels before it is matched, whatever the provider; and how much of those a peer may send ahead.
constexpr std::uint32_t kEagerMax = 32768;
constexpr std::uint32_t kCredits = 64;
constexpr int kConnectMs = 10'000;
constexpr int kKeepAliveMs = 15'000;
constexpr std::uint64_t kFinalizeNs = 10'000'000'000;

Status no_address(int rank) {
  return refuse(EINVAL, "the address of rank {} is none: give \"host:port\"", rank);
}

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

Status check(const exm_config_t& config) {
  if (config.struct_bytes != sizeof config)
    return refuse(EINVAL, "struct_bytes is {}, and exm_config_t has {}", config.struct_bytes, sizeof config);
  constexpr int kSizeMax = 1 << 20;
  if (config.size < 1 || config.size > kSizeMax || config.rank < 0 || config.rank >= config.size)
    return refuse(EINVAL, "rank {} of {}", config.rank, config.size);
  if (config.size > 1 && config.addresses == nullptr) return null_argument();
  if (config.eager_bytes > kEagerMax)
    return refuse(EINVAL, "eager_bytes is {}, and at most {}", config.eager_bytes, kEagerMax);
  return Status();
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

SocketOptions socket_options(const Library& library, const exm_config_t& config) {
  SocketOptions options(proto::SocketKind::kTagged);
  options.provider = library.provider_wish();
  options.wishes.small_bytes = kEagerMax + wire::kLabelBytesMax;
  options.wishes.send_credits = options.wishes.receive_credits = kCredits;
  options.wishes.introduction.rank = static_cast<std::uint32_t>(config.rank);
  options.wishes.introduction.eager_bytes_log2 = share_log2(kEagerPool, config.size, 16, 20);
  options.wishes.introduction.adverts_log2 = share_log2(kAdvertsPool, config.size, 8, 15);
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
  const auto socket = std::make_shared<Socket>(std::make_shared<KernelDescriptor>(std::move(*opened)),
                                               address.ss_family, options);
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

// What is needed of an endpoint before the others are known.
struct Preparation {
  EndpointOptions options;
  std::shared_ptr<Socket> listening;  // null: a job of one
};

Result<Preparation> prepare(const Library& library, const exm_config_t& config, const sockaddr_storage& own) {
  const SocketOptions sockets = socket_options(library, config);
  Preparation made;
  EndpointOptions& options = made.options;
  options.rank = static_cast<std::uint32_t>(config.rank);
  options.size = static_cast<std::uint32_t>(config.size);
  options.session = sockets.session(kConnectMs);
  options.eager_bytes = config.eager_bytes;
  options.spin_ns = spin_ns_of(config.size);
  options.open_socket = open_socket;
  if (config.size == 1) return made;
  auto listening = listening_socket(own, sockets);
  if (!listening) return failure(listening.error());
  made.listening = std::move(*listening);
  return made;
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

// All ranks are known beforehand.
Result<exm_ep_t> join_listed(Library& library, const exm_config_t& config) {
  if (const Status status = check(config); !status.ok()) return failure(status);
  std::vector<sockaddr_storage> addresses;
  for (int rank = 0; rank < config.size && config.size > 1; ++rank) {
    const auto address = address_of(config.addresses[rank], rank);
    if (!address) return failure(address.error());
    addresses.push_back(*address);
  }
  auto prepared =
      prepare(library, config,
              config.size > 1 ? addresses[static_cast<std::size_t>(config.rank)] : sockaddr_storage{});
  if (!prepared) return failure(prepared.error());
  prepared->options.addresses = std::move(addresses);
  auto endpoint = start(library, std::move(*prepared));
  if (!endpoint) return failure(endpoint.error());
  return new exm_ep{std::move(*endpoint), nullptr, nullptr};
}

exm_config_t config_of(int rank, int size) {
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.rank = rank;
  config.size = size;
  return config;
}

Result<std::uint16_t> port_of(const Socket& listening) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (kernel::getsockname(listening.number(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return failure(errno);
  return ntohs(address.sin_port);
}

// The addresses of all, once they have told each other; none in a job of one.
Result<std::vector<sockaddr_storage>> exchange_addresses(boot::Boot& boot, const Socket* listening) {
  std::string card = "-";
  if (listening != nullptr) {
    const auto port = port_of(*listening);
    if (!port) return failure(port.error());
    auto made = make_card(*port, boot.hosts() > 1);
    if (!made) return failure(made.error());
    card = std::move(*made);
  }
  const auto cards = boot.exchange(card);
  if (!cards) return failure(cards.error());
  if (listening == nullptr) return std::vector<sockaddr_storage>(1);
  return addresses_on(*cards);
}

// The ranks tell each other through what started them where they listen.
Result<exm_ep_t> join_started(Library& library, std::shared_ptr<boot::Boot> boot) {
  exm_config_t config = config_of(boot->rank(), boot->size());
  std::memcpy(config.key, boot->key().data(), sizeof config.key);
  auto prepared = prepare(library, config, listening_address(boot->hosts() > 1));
  if (!prepared) return failure(prepared.error());
  auto addresses = exchange_addresses(*boot, prepared->listening.get());
  if (!addresses) return failure(addresses.error());
  prepared->options.addresses = std::move(*addresses);
  auto endpoint = start(library, std::move(*prepared));
  if (!endpoint) return failure(endpoint.error());
  // Of those that have ended, first.
  const auto tell = [boot, known = std::weak_ptr<Endpoint>(*endpoint)] {
    const std::vector<int> ranks = boot->deaths();
    if (const auto self = known.lock()) {
      for (const int rank : ranks) self->note_death(static_cast<std::uint32_t>(rank));
    }
    return boot->descriptor() >= 0;
  };
  std::shared_ptr<DescriptorWatch> watch;
  bool goes_on = false;
  (*endpoint)->shard()->carry_out([&] { goes_on = tell(); });
  if (goes_on) watch = DescriptorWatch::start((*endpoint)->shard(), boot->descriptor(), tell);
  return new exm_ep{std::move(*endpoint), std::move(boot), std::move(watch)};
}

Result<exm_ep_t> join(Library& library, const exm_config_t* config) {
  if (config != nullptr) return join_listed(library, *config);
  auto boot = boot::find_boot();
  if (!boot) return failure(boot.error());
  if (*boot == nullptr) return join_listed(library, config_of(0, 1));
  return join_started(library, std::move(*boot));
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_init(const exm_config_t* config, exm_ep_t* ep) {
  if (exs_init(EXS_VERSION) != 0) return -1;
  const int outcome = api_call([&](Library& library) -> Result<int> {
    if (ep == nullptr) return failure(null_argument());
    const auto joined = join(library, config);
    if (!joined) return failure(joined.error());
    *ep = *joined;
    return 0;
  });
  if (outcome == 0) return 0;
  const int error = errno;
  exs_fini();
  errno = error;
  return -1;
}

int exm_rank(exm_ep_t ep) {
  return message_call(
      ep, [](Endpoint& endpoint) -> Result<int> { return static_cast<int>(endpoint.options().rank); });
}

int exm_size(exm_ep_t ep) {
  return message_call(
      ep, [](Endpoint& endpoint) -> Result<int> { return static_cast<int>(endpoint.options().size); });
}

int exm_finalize(exm_ep_t ep) {
  const int outcome =
      message_call(ep, [](Endpoint& endpoint) { return api_result(endpoint.finalize(kFinalizeNs)); });
  if (ep == nullptr) return outcome;
  const int error = errno;
  if (ep->launcher) ep->launcher->stop();
  if (ep->boot) ep->boot->leave();
  delete ep;
  exs_fini();
  errno = error;
  return outcome;
}

int exm_abort(exm_ep_t ep, int code) {
  if (ep != nullptr && ep->boot) ep->boot->abort(code);
  _exit(code);
}

int exm_failed(exm_ep_t ep, int* ranks, int room) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (room < 0 || (room > 0 && ranks == nullptr)) return failure(null_argument());
    const std::vector<int> failed = endpoint.acknowledge_failures();
    std::copy_n(failed.begin(), std::min(failed.size(), static_cast<std::size_t>(room)), ranks);
    return static_cast<int>(failed.size());
  });
}

int exm_stats(exm_ep_t ep, exm_stats_t* stats) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (stats == nullptr) return failure(null_argument());
    *stats = {};
    endpoint.count(*stats);
    return 0;
  });
}
