// Whether TCP sockets can be had: every exs socket is one, and every connection begins over it.
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

Fact look_at_tcp_sockets() {
  Fact fact("tcp_sockets");
  fact.concerns = {"iwarp", "shm", "verbs"};
  const Trial ipv4 = try_out([] { return open_one(AF_INET); });
  const Trial ipv6 = try_out([] { return open_one(AF_INET6); });
  fact.values = {{"ipv4", ipv4.worked()}, {"ipv6", ipv6.worked()}};
  fact.text = "IPv4: " + (ipv4.worked() ? "yes" : ipv4.words());
  fact.text += ", IPv6: " + (ipv6.worked() ? "yes" : ipv6.words());
  if (ipv4.worked() || ipv6.worked()) return fact;
  fact.verdict = Verdict::missing;
  fact.reason = exs::ReasonCode::kFailed;
  fact.text = "socket(2): " + fact.text;
  return fact;
}

}  // namespace explain
