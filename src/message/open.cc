// exm_open, and the names by which its processes know each other.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/socket_address.h"
#include "src/message/arguments.h"
#include "src/message/networks.h"
#include "src/message/start.h"

namespace exs {
namespace {

// A name: "exm1", family (4 or 6), port, host, id; numbers in network order.
constexpr std::array<std::byte, 4> kMagic{std::byte{'e'}, std::byte{'x'}, std::byte{'m'}, std::byte{'1'}};
constexpr std::size_t kFamilyOffset = 4, kPortOffset = 6, kHostOffset = 8, kIdOffset = 24;
static_assert(kIdOffset + 8 == EXM_NAME_BYTES);

constexpr int kPeersUsual = 64;
constexpr int kPeersMax = 1 << 20;

Status no_name() {
  return refuse(EINVAL, "these bytes are no name of exm_name");
}

void write_name(const PeerName& name, std::byte* into) noexcept {
  std::fill_n(into, EXM_NAME_BYTES, std::byte{0});
  std::copy(kMagic.begin(), kMagic.end(), into);
  const sockaddr& address = *as_sockaddr(name.address);
  const bool is_v4 = address.sa_family == AF_INET;
  store_be(into + kFamilyOffset, static_cast<std::uint16_t>(is_v4 ? 4 : 6));
  store_be(into + kPortOffset, ntohs(port_of(name.address)));
  if (is_v4) {
    std::memcpy(into + kHostOffset, &v4_host(address), sizeof(in_addr));
  } else {
    std::memcpy(into + kHostOffset, &v6_host(address), sizeof(in6_addr));
  }
  store_be(into + kIdOffset, name.id);
}

Result<PeerName> read_name(const std::byte* from, std::size_t length) {
  if (length != EXM_NAME_BYTES || !std::equal(kMagic.begin(), kMagic.end(), from)) return failure(no_name());
  PeerName name;
  name.id = load_be<std::uint64_t>(from + kIdOffset);
  const auto family = load_be<std::uint16_t>(from + kFamilyOffset);
  const auto port = load_be<std::uint16_t>(from + kPortOffset);
  if (name.id == 0 || (family != 4 && family != 6)) return failure(no_name());
  if (family == 4) {
    in_addr host{};
    std::memcpy(&host, from + kHostOffset, sizeof host);
    name.address = v4_address(host, port);
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    std::memcpy(&address.sin6_addr, from + kHostOffset, sizeof(in6_addr));
    name.address = copy_of(reinterpret_cast<const sockaddr&>(address));
  }
  return name;
}

// Any port of the first address that other hosts reach; without a network, of the loopback.
Result<sockaddr_storage> first_address() {
  const auto networks = own_networks();
  if (!networks) return failure(networks.error());
  return v4_address(networks->empty() ? in_addr{htonl(INADDR_LOOPBACK)} : networks->front().address, 0);
}

Result<sockaddr_storage> address_to_listen_at(const exm_config_t& config) {
  if (config.addresses != nullptr) return address_of(config.addresses[0], 0);
  const char* const wish = unless_empty(std::getenv("EXM_ADDRESS"));
  if (wish == nullptr) return first_address();
  const std::string text(wish);
  return address_of((text.find(':') == std::string::npos ? text + ":0" : text).c_str(), 0);
}

// A listener at every address of the host is known by the address that would have been chosen.
Result<sockaddr_storage> address_for_others(const sockaddr_storage& own) {
  if (!is_any(*as_sockaddr(own))) return own;
  exm_config_t chosen_by_us{};
  auto address = address_to_listen_at(chosen_by_us);
  if (address && is_any(*as_sockaddr(*address))) address = first_address();
  if (address) port_of(*address) = port_of(own);
  return address;
}

Result<std::uint64_t> new_id() {
  auto id = draw<std::uint64_t>();
  while (id && *id == 0) id = draw<std::uint64_t>();
  return id;
}

Status check_open(const exm_config_t& config) {
  if (config.struct_bytes != sizeof config)
    return refuse(EINVAL, "struct_bytes is {}, and exm_config_t has {}", config.struct_bytes, sizeof config);
  if (config.rank != 0) return refuse(EINVAL, "rank {}: there are none here, so it is 0", config.rank);
  if (config.size < 0 || config.size > kPeersMax)
    return refuse(EINVAL, "{} peers: up to {} may be", config.size, kPeersMax);
  if (config.eager_bytes > kEagerMax)
    return refuse(EINVAL, "eager_bytes is {}, and at most {}", config.eager_bytes, kEagerMax);
  return Status();
}

Result<exm_ep_t> open_ep(Library& library, const exm_config_t& config) {
  if (const Status status = check_open(config); !status.ok()) return failure(status);
  const auto own = address_to_listen_at(config);
  if (!own) return failure(own.error());
  auto prepared = prepare(library, config, config.size == 0 ? kPeersUsual : config.size, &*own);
  if (!prepared) return failure(prepared.error());
  const auto listening = own_address(*prepared->listening);
  if (!listening) return failure(listening.error());
  const auto address = address_for_others(*listening);
  if (!address) return failure(address.error());
  EndpointOptions& options = prepared->options;
  options.has_ranks = false;
  const auto id = new_id();
  if (!id) return failure(id.error());
  options.peers = {{.address = *address, .id = *id}};
  options.session.wishes.introduction.id = *id;
  auto made = std::make_unique<exm_ep>();  // an endpoint that has started has to be closed
  auto endpoint = start(library, std::move(*prepared));
  if (!endpoint) return failure(endpoint.error());
  made->endpoint = std::move(*endpoint);
  return made.release();
}

exm_config_t usual_config() {
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  return config;
}

// Truncates to the room and sets `length` to the full length, like getsockname().
Result<int> tell_name(Endpoint& endpoint, std::uint32_t peer, void* into, std::size_t* length) {
  if (length == nullptr || (into == nullptr && *length > 0)) return failure(null_argument());
  if (endpoint.options().has_ranks)
    return failure(refuse(EOPNOTSUPP, "processes of a job have ranks, and no names"));
  const PeerName name = endpoint.name_of(peer);
  if (name.address.ss_family == AF_UNSPEC)
    return failure(refuse(ENOENT, "peer {} has come by itself, and its name was never told", peer));
  std::byte bytes[EXM_NAME_BYTES];
  write_name(name, bytes);
  std::copy_n(bytes, std::min(*length, sizeof bytes), static_cast<std::byte*>(into));
  *length = sizeof bytes;
  return 0;
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_open(const exm_config_t* config, exm_ep_t* ep) {
  return create_ep(ep, [config](Library& library) {
    return open_ep(library, config == nullptr ? usual_config() : *config);
  });
}

int exm_name(exm_ep_t ep, void* name, size_t* length) {
  return message_call(
      ep, [&](Endpoint& endpoint) { return tell_name(endpoint, endpoint.options().number, name, length); });
}

int exm_peer(exm_ep_t ep, const void* name, size_t length, int* peer) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (name == nullptr || peer == nullptr) return failure(null_argument());
    if (endpoint.options().has_ranks)
      return failure(refuse(EOPNOTSUPP, "processes of a job have ranks, and no names"));
    const auto read = read_name(static_cast<const std::byte*>(name), length);
    if (!read) return failure(read.error());
    const auto number = endpoint.enter(*read);
    if (!number) return failure(number.error());
    *peer = static_cast<int>(*number);
    return 0;
  });
}

int exm_peer_name(exm_ep_t ep, int peer, void* name, size_t* length) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (const Status status = check_rank(endpoint, peer); !status.ok()) return failure(status);
    return tell_name(endpoint, static_cast<std::uint32_t>(peer), name, length);
  });
}
