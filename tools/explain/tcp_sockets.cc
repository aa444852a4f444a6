// Whether TCP sockets are available: every exs socket has one, and every connection begins over TCP.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include <cerrno>

#include "tools/explain/kernel.h"
#include "tools/explain/machine.h"

namespace explain {
namespace {

int open_one(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0) == -1 ? errno : 0;
}

}  // namespace

CheckResult check_tcp_sockets() {
  CheckResult result("tcp_sockets");
  result.concerns = {"iwarp", "shm", "verbs"};
  const Trial ipv4 = try_in_child([] { return open_one(AF_INET); });
  const Trial ipv6 = try_in_child([] { return open_one(AF_INET6); });
  result.values = {{"ipv4", ipv4.worked()}, {"ipv6", ipv6.worked()}};
  result.text = "IPv4: " + (ipv4.worked() ? "yes" : ipv4.description());
  result.text += ", IPv6: " + (ipv6.worked() ? "yes" : ipv6.description());
  if (ipv4.worked() || ipv6.worked()) return result;
  result.verdict = Verdict::missing;
  result.reason = exs::ReasonCode::kFailed;
  result.text = "socket(2): " + result.text;
  return result;
}

}  // namespace explain
