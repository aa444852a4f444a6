// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/process_listener.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/contain.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/log/log.h"

namespace exs::verbs {
namespace {

// `address` with the port of `like`.
sockaddr_storage with_port(const sockaddr& address, const sockaddr_storage& like) {
  sockaddr_storage made = copy_of(address);
  port_of(made) = port_of(like);
  return made;
}

}  // namespace

Result<std::unique_ptr<ProcessListener>> VerbsProcessListener::start(int descriptor, int backlog) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (kernel::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return failure(errno);
  auto channel = CmChannel::open();
  if (!channel) return std::unique_ptr<ProcessListener>();
  std::unique_ptr<VerbsProcessListener> made(new VerbsProcessListener(std::move(*channel), backlog));
  const Status status =
      is_any(*as_sockaddr(address)) ? made->listen_on_all(address) : made->listen_on(address, true);
  if (!status.ok() && status != Status(ENODEV)) return failure(status);
  if (made->ids_.empty()) return std::unique_ptr<ProcessListener>();
  return std::unique_ptr<ProcessListener>(std::move(made));
}

VerbsProcessListener::~VerbsProcessListener() = default;

Status VerbsProcessListener::check(const sockaddr& address) {
  auto channel = CmChannel::open();
  if (!channel) return Status();
  VerbsProcessListener nobody(std::move(*channel), 0);
  auto id = nobody.channel_->make_id(nobody);
  sockaddr_storage wanted = copy_of(address);
  if (!id || ::rdma_bind_addr(id->get(), reinterpret_cast<sockaddr*>(&wanted)) == 0) return Status();
  // The wildcard needs no device, so it is not available where one address has the port.
  const bool is_taken = errno == EADDRINUSE || (errno == EADDRNOTAVAIL && is_any(address));
  return Status(is_taken ? EADDRINUSE : 0);
}

Status VerbsProcessListener::listen_on(const sockaddr_storage& address, bool only_address) {
  auto id = channel_->make_id(*this);
  if (!id) return id.error();
  sockaddr_storage bound = address;
  if (::rdma_bind_addr(id->get(), reinterpret_cast<sockaddr*>(&bound)) != 0)
    return Status(errno == EADDRNOTAVAIL ? ENODEV : errno);
  if ((*id)->verbs == nullptr) return Status(ENODEV);
  const bool iwarp = (*id)->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  if (iwarp && !only_address) return Status(ENODEV);
  if (::rdma_listen(id->get(), backlog_) != 0) return Status(errno);
  holds_tcp_port_ = holds_tcp_port_ || iwarp;
  ids_.push_back(std::move(*id));
  return Status();
}

Status VerbsProcessListener::listen_on_all(const sockaddr_storage& address) {
  ifaddrs* all = nullptr;
  if (kernel::getifaddrs(&all) != 0) return Status(errno);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const bool wanted = one->ifa_addr->sa_family == address.ss_family ||
                        (address.ss_family == AF_INET6 && one->ifa_addr->sa_family == AF_INET);
    if (!wanted) continue;
    const Status status = listen_on(with_port(*one->ifa_addr, address), false);
    if (!status.ok() && status != Status(ENODEV))
      log(LogLevel::kWarn, "verbs: cannot listen on {}: {}; its peers use the network", one->ifa_name,
          std::strerror(status.error()));
  }
  ::freeifaddrs(all);
  return Status();
}

void VerbsProcessListener::cm_event(const rdma_cm_event& event) {
  if (event.event != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  contain([&] { take_request(event); },
          [] { log(LogLevel::kWarn, "verbs: a peer was refused: no memory for it"); });
}

void VerbsProcessListener::take_request(const rdma_cm_event& event) {
  CmId id(event.id);
  requests_.reserve(requests_.count() + 1);
  UniqueFd descriptor(kernel::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int error = descriptor.valid() ? 0 : errno;
  auto request =
      std::make_unique<IncomingRequest>(channel_, std::move(id), event.param.conn, std::move(descriptor));
  if (error != 0) {
    log(LogLevel::kError, "verbs: a peer was refused, there is no descriptor for it: {}; raise ulimit -n",
        std::strerror(error));
    return;
  }
  if (requests_.count() >= static_cast<std::size_t>(backlog_)) return;
  ++seen_;
  requests_.push_back(std::move(request));
}

std::unique_ptr<ConnectionRequest> VerbsProcessListener::next_request() {
  if (requests_.empty()) return nullptr;
  return requests_.pop_front();
}

}  // namespace exs::verbs
