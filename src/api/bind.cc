// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/bind.h"

#include <vector>

#include "base/kernel.h"
#include "base/socket_address.h"
#include "base/unique_fd.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

// One of so many ports is free, whatever is connected.
constexpr int kProposalsMax = 32;

using Listenings = std::vector<OwnListening*>;

Listenings allowed_listenings(const Choice& choice) {
  const ProviderSet& set = providers();
  Listenings found;
  for (const Role role : kRoles) {
    Provider* const provider = set.allows(choice, role) ? set.player(role) : nullptr;
    OwnListening* const own = provider != nullptr ? provider->own_listening() : nullptr;
    if (own != nullptr) found.push_back(own);
  }
  return found;
}

Status check_listenings(const Listenings& listenings, const sockaddr_storage& address) {
  for (OwnListening* const own : listenings) {
    if (const Status status = own->check_address(*as_sockaddr(address)); !status.ok()) return status;
  }
  return Status();
}

// A server started anew must not wait for the last connections of its predecessor to time out.
Status bind_anew(int number, const sockaddr_storage& address) {
  const int yes = 1;
  kernel::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return kernel_status(kernel::bind(number, as_sockaddr(address), address_bytes(*as_sockaddr(address))));
}

// A port holder keeps others of the host from a port until the socket is bound to it, too.
struct Proposal {
  UniqueFd holder;
  in_port_t port = 0;
};

Proposal propose_port(const sockaddr_storage& address) {
  Proposal made{UniqueFd(kernel::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_storage given{};
  socklen_t length = sizeof given;
  if (made.holder.valid() && bind_anew(made.holder.get(), address).ok() &&
      kernel::getsockname(made.holder.get(), as_sockaddr(given), &length) == 0)
    made.port = port_of(given);
  return made;
}

// The kernel knows only the ports of its TCP sockets; a connection manager gives others to connecting ends.
// So the kernel proposes a port, and the providers with own listeners check it. If all proposals are taken,
// the kernel's choice stands.
Status bind_to_free_port(int number, sockaddr_storage address, const Listenings& listenings) {
  for (int i = 0; i < kProposalsMax; ++i) {
    const Proposal proposal = propose_port(address);
    if (proposal.port == 0) break;
    sockaddr_storage proposed = address;
    port_of(proposed) = proposal.port;
    if (check_listenings(listenings, proposed).ok()) return bind_anew(number, proposed);
  }
  return bind_anew(number, address);
}

}  // namespace

bool kernel_listens_for_network(const Choice& choice) {
  Provider* const network = providers().player(Role::kNetwork);
  if (network == nullptr || network->own_listening() != nullptr) return false;
  return providers().allows(choice, Role::kNetwork) || providers().allows(choice, Role::kSameHost);
}

Status bind_socket(Socket& socket, const sockaddr& address) {
  const Choice choice = socket.options().session(0).choice;
  const Listenings listenings = allowed_listenings(choice);
  const sockaddr_storage wanted = copy_of(address);
  if (port_of(wanted) == 0 && !listenings.empty())
    return bind_to_free_port(socket.number(), wanted, listenings);
  // bind(2) does not know of listeners that are not TCP sockets.
  if (!kernel_listens_for_network(choice)) {
    if (const Status status = check_listenings(listenings, wanted); !status.ok()) return status;
  }
  return bind_anew(socket.number(), wanted);
}

}  // namespace exs
