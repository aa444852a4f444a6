// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/serve.h"

#include <microhttpd.h>
#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>

#include "base/socket_address.h"
#include "tools/common/failure.h"

namespace top {
namespace {

constexpr const char* kPath = "/metrics";
constexpr const char* kForm = "application/openmetrics-text; version=1.0.0; charset=utf-8";
// Clients at a time, and how long a silent one is kept.
constexpr unsigned kClientsMax = 16;
constexpr unsigned kSilentSeconds = 10;

struct EndDaemon {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};
struct EndResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};

MHD_Result respond(MHD_Connection* connection, unsigned status, std::string text, const char* form) {
  const std::unique_ptr<MHD_Response, EndResponse> response(
      MHD_create_response_from_buffer(text.size(), text.data(), MHD_RESPMEM_MUST_COPY));
  if (!response || MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, form) != MHD_YES)
    return MHD_NO;
  return MHD_queue_response(connection, status, response.get());
}

// The form of the callback is that of libmicrohttpd.
MHD_Result answer(void* metrics, MHD_Connection* connection, const char* path, const char* method,
                  const char* /*version*/, const char* /*upload*/, std::size_t* /*upload_bytes*/,
                  void** /*state*/) noexcept try {
  constexpr const char* kPlain = "text/plain; charset=utf-8";
  const std::string_view asked = method;
  if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD)
    return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET alone\n", kPlain);
  if (std::string_view(path) != kPath)
    return respond(connection, MHD_HTTP_NOT_FOUND, std::string("see ") + kPath + "\n", kPlain);
  return respond(connection, MHD_HTTP_OK, (*static_cast<const std::function<std::string()>*>(metrics))(),
                 kForm);
} catch (const std::exception&) {
  return MHD_NO;  // which closes the connection
}

sigset_t block_ends() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

}  // namespace

void serve_metrics(const sockaddr_storage& address, const std::function<std::string()>& metrics) {
  const sigset_t ends = block_ends();
  const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                         (address.ss_family == AF_INET6 ? unsigned{MHD_USE_IPv6} : 0U);
  errno = 0;
  const std::unique_ptr<MHD_Daemon, EndDaemon> daemon(MHD_start_daemon(
      flags, 0, nullptr, nullptr, answer, const_cast<std::function<std::string()>*>(&metrics),
      MHD_OPTION_SOCK_ADDR, exs::as_sockaddr(address), MHD_OPTION_CONNECTION_LIMIT, kClientsMax,
      MHD_OPTION_CONNECTION_TIMEOUT, kSilentSeconds, MHD_OPTION_END));
  if (!daemon) tools::fail(exs::text_of(address), errno == 0 ? EADDRINUSE : errno);
  const MHD_DaemonInfo* const bound = MHD_get_daemon_info(daemon.get(), MHD_DAEMON_INFO_BIND_PORT);
  std::printf("serving http://%s%s\n", exs::text_of(exs::with_port(address, bound->port)).c_str(), kPath);
  std::fflush(stdout);
  int signal = 0;
  while (sigwait(&ends, &signal) != 0) continue;
}

}  // namespace top
