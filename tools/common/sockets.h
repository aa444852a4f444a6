// Addresses and sockets. What fails throws Failure with what was tried.
#pragma once

#include <cstdint>
#include <exs/exs.hpp>
#include <string>

namespace tools {

// The first address of a host. An empty host: any address of this machine, to listen on.
exs::cpp::Address resolve(const std::string& host, std::uint16_t port);
void set_provider(exs::cpp::Socket& socket, const std::string& provider);
// Binds and listens; `name` is the address in messages.
void listen_at(exs::cpp::Socket& socket, const exs::cpp::Address& address, int backlog,
               const std::string& name);

}  // namespace tools
