// Addresses and sockets. Failures throw Failure with the step that failed.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <exs/exs.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Returns the first address of a host. A link-local address of IPv6 needs its interface, too. An empty host gives the wildcard address,
// to listen on.
exs::cpp::Address resolve(const std::string& host, std::uint16_t port);
// "sim" or "sim:SETTINGS": a network inside of one process.
[[nodiscard]] bool is_simulated(std::string_view provider);
// Before the library is initialized: such a provider is one of the process, and goes by the real clock unless it says otherwise, as
// what a tool measures. Others are left to set_provider().
void choose_for_process(const std::string& provider);
// "auto" leaves the choice to EXS_PROVIDER, and so does a simulated one.
void set_provider(exs::cpp::Socket& socket, const std::string& provider);
// A connect failed with `error` because no provider was available: then the reasons explain it, otherwise how far it came.
bool is_for_want_of_provider(int error, const std::vector<exs_reason_t>& reasons);
// Returns the text after "cannot connect to HOST:PORT": the system's words for `error`, and the library's reasons and cures.
std::string words_of_refusal(const exs::cpp::Socket& socket, int error);
// Nothing listens at the address, so no provider is to blame.
bool is_about_address(int error);
// Reports an event of `socket` with this error: throws "WHAT: the system's words", and the library's explanation.
[[noreturn]] void fail_of(int socket, const std::string& what, int error);
// Binds and listens; `name` is the address in messages.
void listen_at(exs::cpp::Socket& socket, const exs::cpp::Address& address, int backlog,
               const std::string& name);

}  // namespace tools
