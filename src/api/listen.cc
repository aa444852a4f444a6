// exs_listen: the kernel's socket listens for peers of the network, and so does every provider with its own
// listener.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/listen.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/bind.h"
#include "src/log/log.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

// Binds a socket without a port, as listen(2) would: a provider's listener needs the port.
Status give_port(Socket& socket) EXS_REQUIRES(socket.mutex) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (kernel::getsockname(socket.number(), as_sockaddr(address), &length) != 0) return Status(errno);
  if (port_of(address) != 0) return Status();
  return bind_socket(socket, *as_sockaddr(address));
}

Reason why_not_listening(Status failed) {
  if (failed.ok()) return Reason::make(ReasonCode::kNoDevice, "none carries the address listened on");
  return Reason::make(ReasonCode::kFailed, "listening: %s", std::strerror(failed.error()));
}

// Connections report the reason why a provider cannot listen. The call fails with `failed` only if no other
// provider is allowed.
ListeningPoints open_by_provider(int number, int backlog, const Choice& choice, Status& failed) {
  ListeningPoints made;
  for (const Role role : kRoles) {
    Provider* const provider = providers().allows(choice, role) ? providers().player(role) : nullptr;
    OwnListening* const own = provider != nullptr ? provider->own_listening() : nullptr;
    if (own == nullptr) continue;
    auto listening = own->start_listening(number, backlog);
    if (listening && *listening) {
      if ((*listening)->holds_tcp_port()) made.network = false;
      made.by_provider.push_back({role, std::move(*listening)});
      continue;
    }
    if (!listening) failed = listening.error();
    if (role == Role::kDevice) made.why_no_device = why_not_listening(failed);
  }
  return made;
}

bool is_about_the_address(Status status) {
  return status == Status(EADDRINUSE) || status == Status(EADDRNOTAVAIL) || status == Status(EACCES);
}

bool kernel_listens(int number) {
  int listens = 0;
  socklen_t length = sizeof listens;
  return kernel::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens == 1;
}

}  // namespace

Status start_listening(Socket& socket, int backlog) {
  const int number = socket.number();
  const Choice choice = socket.options().session(0).choice;
  if (const Status status = give_port(socket); !status.ok()) return status;
  Status failed;
  ListeningPoints made = open_by_provider(number, backlog, choice, failed);
  made.network = made.network && kernel_listens_for_network(choice);
  if (!made.network && made.by_provider.empty()) {
    const Status why = is_about_the_address(failed) ? failed : Status(EOPNOTSUPP);
    return fault(
        LogLevel::kError, why.error(),
        "socket {}: cannot listen: {}: verbs: {}: {}; {}; or let EXS_SO_PROVIDER or EXS_PROVIDER allow other "
        "providers",
        number, std::strerror(why.error()), reason_name(made.why_no_device.code), made.why_no_device.fact,
        reason_cure(made.why_no_device.code));
  }
  if (made.network) {
    if (const Status status = kernel_status(kernel::listen(number, backlog)); !status.ok()) return status;
  }
  socket.listening_points() = std::move(made);
  return Status();
}

}  // namespace exs

using namespace exs;

int exs_listen(int number, int backlog) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (socket->adopted() != Adopted::kNo) return api_result(kernel_status(kernel::listen(number, backlog)));
    LockGuard guard(socket->mutex);
    if (socket->session() != nullptr)
      return failure(refuse(EINVAL, "the socket is connected, or connects: listen with another one"));
    const int held = std::clamp(backlog, 1, SOMAXCONN);
    if (socket->backlog() == 0) {
      if (const Status status = start_listening(*socket, held); !status.ok()) return failure(status);
    } else if (kernel_listens(number)) {
      if (const Status status = kernel_status(kernel::listen(number, held)); !status.ok())
        return failure(status);
    }
    socket->backlog() = held;
    return 0;
  });
}
