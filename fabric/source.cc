#include "fabric/source.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include <rdma/fabric.h>

namespace exs::fabric {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const char* node, const char* service, int flags) {
  addrinfo wanted{};
  wanted.ai_flags = flags;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  return {getaddrinfo(node, service, &wanted, &found) == 0 ? found : nullptr, freeaddrinfo};
}

std::optional<std::string> text_of(const addrinfo& address) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(address.ai_addr, address.ai_addrlen, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return std::nullopt;
  const std::string text = address.ai_family == AF_INET6 ? "[" + std::string(host) + "]" : host;
  return text + ":" + port;
}

}  // namespace

std::optional<std::string> source_of(const char* node, const char* service, std::uint64_t flags) {
  const char* const host = node == nullptr ? "127.0.0.1" : node;
  const auto found =
      resolve(host, service == nullptr ? "0" : service, (flags & FI_NUMERICHOST) != 0 ? AI_NUMERICHOST : 0);
  return found ? text_of(*found) : std::nullopt;
}

std::optional<std::string> read_source(const void* address, std::size_t bytes) {
  const auto* const begin = static_cast<const char*>(address);
  const std::string text(begin, strnlen(begin, bytes));
  if (text == kAnySource) return text;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size()) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const auto found = resolve(host.c_str(), text.c_str() + colon + 1, AI_NUMERICHOST | AI_NUMERICSERV);
  return found ? text_of(*found) : std::nullopt;
}

}  // namespace exs::fabric
