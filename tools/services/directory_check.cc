// SPDX-License-Identifier: BSD-2-Clause
#include "tools/services/directory_check.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace services {
namespace {

constexpr const char* kPort = "17752";
constexpr int kLimitMs = 1000;

// Splits "address", "address:port", "[address]:port" or an IPv6 address.
void split(const std::string& text, std::string& address, std::string& port) {
  const std::size_t colon = text.rfind(':');
  const bool has_brackets = !text.empty() && text.front() == '[';
  const bool has_port =
      colon != std::string::npos && (has_brackets ? text[colon - 1] == ']' : text.find(':') == colon);
  address = has_port ? text.substr(0, colon) : text;
  port = has_port ? text.substr(colon + 1) : kPort;
  if (has_brackets && address.size() >= 2) address = address.substr(1, address.size() - 2);
}

// Returns 0 or an errno value.
int connect_in_time(int socket, const addrinfo& place) {
  if (::connect(socket, place.ai_addr, place.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd state{socket, POLLOUT, 0};
  if (::poll(&state, 1, kLimitMs) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0 ? errno : error;
}

}  // namespace

std::string why_no_directory() {
  const char* const named = std::getenv("EXS_SVC_DIRECTORY");
  if (named == nullptr || *named == '\0') return {};
  std::string address;
  std::string port;
  split(named, address, port);
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), port.c_str(), &wanted, &found) != 0) return {};
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int error = socket < 0 ? errno : connect_in_time(socket, *found);
  if (socket >= 0) ::close(socket);
  ::freeaddrinfo(found);
  if (error == 0) return {};
  return "the directory at " + std::string(named) +
         " (EXS_SVC_DIRECTORY) cannot be asked: " + std::strerror(error);
}

}  // namespace services
