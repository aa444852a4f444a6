// Addresses and sockets. What fails throws Failure with what was tried.
#pragma once

#include <cstdint>
#include <exs/exs.hpp>
#include <string>
#include <vector>

namespace tools {

// The first address of a host; of a link-local one of IPv6 the interface has to be named, too. An empty host: any address of this machine, to listen on.
exs::cpp::Address resolve(const std::string& host, std::uint16_t port);
// "auto" leaves the choice to EXS_PROVIDER.
void set_provider(exs::cpp::Socket& socket, const std::string& provider);
// It is for want of a provider that a connect has ended with `error`: then the reasons tell why, else how far it came.
bool is_for_want_of_provider(int error, const std::vector<exs_reason_t>& reasons);
// What follows "cannot connect to HOST:PORT": the system's words for `error`, and what the library found and would change.
std::string words_of_refusal(const exs::cpp::Socket& socket, int error);
// Nothing listens at the address: then no provider is to blame.
bool is_about_address(int error);
// An event of `socket` has this error: throws "WHAT: the system's words", and what the library has found.
[[noreturn]] void fail_of(int socket, const std::string& what, int error);
// Binds and listens; `name` is the address in messages.
void listen_at(exs::cpp::Socket& socket, const exs::cpp::Address& address, int backlog,
               const std::string& name);

}  // namespace tools
