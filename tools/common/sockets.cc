#include "tools/common/sockets.h"

#include <netdb.h>

#include <system_error>

#include "tools/common/failure.h"

namespace tools {

exs::cpp::Address resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const char* name = host.empty() ? nullptr : host.c_str();
  const int error = getaddrinfo(name, std::to_string(port).c_str(), &hints, &list);
  if (error != 0) throw Failure("no address for \"" + host + "\": " + gai_strerror(error));
  const exs::cpp::Address first(list->ai_addr, list->ai_addrlen);
  freeaddrinfo(list);
  return first;
}

void set_provider(exs::cpp::Socket& socket, const std::string& provider) {
  try {
    socket.set_text_option(EXS_SO_PROVIDER, provider);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_supported)
      throw Failure("provider " + provider + ": not in this build of exs; try auto");
    fail("provider " + provider, error.code().value());
  }
}

void listen_at(exs::cpp::Socket& socket, const exs::cpp::Address& address, int backlog,
               const std::string& name) {
  try_to("cannot serve on " + name, [&] { socket.bind(address); });
  try_to("cannot listen on " + name, [&] { socket.listen(backlog); });
}

}  // namespace tools
