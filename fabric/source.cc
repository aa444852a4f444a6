// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/source.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include <rdma/fabric.h>

namespace exs::fabric {
namespace {

// The address that goes with a service alone.
constexpr char kEveryAddress[] = "0.0.0.0";

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const char* node, const char* service, int flags) {
  addrinfo wanted{};
  wanted.ai_flags = flags;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  return {getaddrinfo(node, service, &wanted, &found) == 0 ? found : nullptr, freeaddrinfo};
}

std::optional<std::string> text_of(const sockaddr& address, socklen_t bytes) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(&address, bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
      0)
    return std::nullopt;
  const std::string text = address.sa_family == AF_INET6 ? "[" + std::string(host) + "]" : host;
  return text + ":" + port;
}

std::optional<std::string> text_of(const Addresses& found) {
  return found ? text_of(*found->ai_addr, found->ai_addrlen) : std::nullopt;
}

// For applications that use tcp's addresses. No text begins like these.
std::optional<std::string> read_socket_address(const void* address, std::size_t bytes) {
  sockaddr_storage known{};
  if (bytes < sizeof(sockaddr_in) || bytes > sizeof known) return std::nullopt;
  std::memcpy(&known, address, bytes);
  const bool is_whole = (known.ss_family == AF_INET && bytes >= sizeof(sockaddr_in)) ||
                        (known.ss_family == AF_INET6 && bytes >= sizeof(sockaddr_in6));
  if (!is_whole) return std::nullopt;
  return text_of(reinterpret_cast<const sockaddr&>(known),
                 known.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

}  // namespace

std::optional<std::string> source_of(const char* node, const char* service, std::uint64_t flags) {
  const char* const host = node == nullptr ? kEveryAddress : node;
  const auto found =
      resolve(host, service == nullptr ? "0" : service, (flags & FI_NUMERICHOST) != 0 ? AI_NUMERICHOST : 0);
  return text_of(found);
}

std::optional<std::string> read_source(const void* address, std::size_t bytes) {
  if (auto known = read_socket_address(address, bytes)) return known;
  const auto* const begin = static_cast<const char*>(address);
  const std::string text(begin, strnlen(begin, bytes));
  if (text == kAnySource) return text;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size()) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return text_of(resolve(host.c_str(), text.c_str() + colon + 1, AI_NUMERICHOST | AI_NUMERICSERV));
}

}  // namespace exs::fabric
