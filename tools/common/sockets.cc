// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/sockets.h"

#include <netdb.h>

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "tools/common/failure.h"

namespace tools {

namespace {

bool lacks_interface(const sockaddr& address) {
  if (address.sa_family != AF_INET6) return false;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) && v6.sin6_scope_id == 0;
}

bool is_forbidden_here(const exs_reason_t& reason) {
  return reason.verdict == EXS_VERDICT_REFUSED && reason.code == EXS_REASON_FORBIDDEN &&
         reason.told_by_peer == 0;
}

}  // namespace

exs::cpp::Address resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const char* name = host.empty() ? nullptr : host.c_str();
  const int error = getaddrinfo(name, std::to_string(port).c_str(), &hints, &list);
  if (error != 0) throw Failure("no address for \"" + host + "\": " + gai_strerror(error));
  const exs::cpp::Address first(list->ai_addr, list->ai_addrlen);
  const bool is_anywhere = lacks_interface(*list->ai_addr);
  freeaddrinfo(list);
  if (is_anywhere)
    throw Failure("\"" + host + "\" is link-local, so any interface may have it: name one, as in " + host +
                  "%eth0 (ip -6 address lists them)");
  return first;
}

bool is_simulated(std::string_view provider) {
  return provider == "sim" || provider.starts_with("sim:");
}

void choose_for_process(const std::string& provider) {
  if (!is_simulated(provider)) return;
  const bool has_settings = provider.find(':') != std::string::npos;
  const bool has_clock = provider.find("clock=") != std::string::npos;
  const std::string clock = has_clock ? "" : has_settings ? ",clock=real" : ":clock=real";
  setenv("EXS_PROVIDER", (provider + clock).c_str(), 1);
}

void set_provider(exs::cpp::Socket& socket, const std::string& provider) {
  if (provider == "auto" || is_simulated(provider)) return;
  try {
    socket.set_text_option(EXS_SO_PROVIDER, provider);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_supported)
      throw Failure("provider " + provider + ": not in this build of exs; try auto");
    fail("provider " + provider, error.code().value());
  }
}

bool is_about_address(int error) {
  return error == ECONNREFUSED;
}

bool is_for_want_of_provider(int error, const std::vector<exs_reason_t>& reasons) {
  if (error == EOPNOTSUPP) return true;
  // If only a device is allowed, the device caused the failure. Otherwise the network had the last word.
  const auto is_out = [&reasons](std::string_view provider) {
    return std::any_of(reasons.begin(), reasons.end(), [provider](const exs_reason_t& reason) {
      return reason.provider == provider && is_forbidden_here(reason);
    });
  };
  return is_out("iwarp") && is_out("shm");
}

std::string words_of_refusal(const exs::cpp::Socket& socket, int error) {
  const std::string words = ": " + std::generic_category().message(error);
  if (is_about_address(error)) return " (is the server running there?)" + words;
  const auto reasons = try_to("cannot ask for the reasons", [&] { return socket.reasons(); });
  const bool is_for_want = is_for_want_of_provider(error, reasons);
  std::string text = words;
  for (const exs_reason_t& reason : reasons) {
    // The user knows about a provider that was forbidden here.
    if (!is_for_want || reason.verdict != EXS_VERDICT_REFUSED || is_forbidden_here(reason)) continue;
    text += std::string("; ") + reason.provider + ": " + (reason.fact[0] != '\0' ? reason.fact : reason.name);
    if (reason.cure[0] != '\0') text += std::string(" (cure: ") + reason.cure + ")";
  }
  // No provider is to blame: say how far the connect came, and what to do.
  if (text == words) text += "; " + try_to("cannot ask for the words", [&] { return socket.error_text(); });
  return text;
}

void fail_of(int socket, const std::string& what, int error) {
  char text[512];
  socklen_t length = sizeof text;
  const bool is_told =
      exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, text, &length) == 0 && text[0] != '\0';
  throw Failure(what + ": " + std::generic_category().message(error) +
                (is_told ? std::string("; ") + text : std::string()));
}

void listen_at(exs::cpp::Socket& socket, const exs::cpp::Address& address, int backlog,
               const std::string& name) {
  try_to("cannot serve on " + name, [&] { socket.bind(address); });
  try_to("cannot listen on " + name, [&] { socket.listen(backlog); });
}

}  // namespace tools
