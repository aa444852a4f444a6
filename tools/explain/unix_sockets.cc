// Whether two processes can meet at an abstract Unix socket and learn each other's identity.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "tools/explain/kernel.h"
#include "tools/explain/machine.h"

namespace explain {
namespace {

int meet_oneself() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listening == -1) return errno;
  // Binds with the family alone: the kernel picks a free abstract name.
  if (::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) == -1) return errno;
  socklen_t length = sizeof address;
  if (::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length) == -1) return errno;
  if (::listen(listening, 1) == -1) return errno;
  const int calling = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (calling == -1) return errno;
  if (::connect(calling, reinterpret_cast<const sockaddr*>(&address), length) == -1) return errno;
  ucred peer{};
  length = sizeof peer;
  if (::getsockopt(calling, SOL_SOCKET, SO_PEERCRED, &peer, &length) == -1) return errno;
  return peer.uid == ::geteuid() ? 0 : EPROTO;
}

}  // namespace

CheckResult check_unix_sockets() {
  CheckResult result("unix_sockets");
  result.concerns = {"shm"};
  const Trial trial = try_in_child(meet_oneself);
  result.values = {{"allowed", trial.worked()}};
  if (trial.worked()) {
    result.text = "abstract names can be bound, reached, and tell who is there";
    return result;
  }
  result.verdict = Verdict::missing;
  result.reason = exs::ReasonCode::kNoUnixSocket;
  result.text = "abstract Unix socket: " + trial.description();
  return result;
}

}  // namespace explain
