// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/no_signals.h"
#include "rpc/channel/address.h"
#include "rpc/channel/close_at_once.h"
#include "rpc/channel/process.h"
#include "rpc/fast/error_text.h"

namespace exs::rpc {
namespace {

constexpr int kBacklog = 1024;
constexpr exs_ahandle_t kAccepts = nullptr;

}  // namespace

Server::~Server() {
  for (const Listener& listener : listeners_) exs_close(listener.socket);
  workers_.clear();
}

int Server::prepare(std::uint32_t threads) {
  if (!start_library()) return refuse(errno, "exs does not start: %s", std::strerror(errno));
  for (std::uint32_t i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(services_, settings_, tokens_, clients_));
    if (!workers_.back()->prepare()) return refuse(errno, "no queue for a thread: %s", exs_errtext());
  }
  return 0;
}

int Server::add(const exs_rpc_service_t& service, void* user) {
  if (runs_) return refuse(EBUSY, "the server runs: add what it serves before");
  const exs_rpc_interface_t& interface = *service.interface;
  if (interface.procedures_count > kProceduresMax)
    return refuse(EINVAL, "%s has too many procedures", interface.name);
  for (const Service& other : services_) {
    const exs_rpc_interface_t& known = *other.service->interface;
    if (known.program == interface.program && known.version == interface.version)
      return refuse(EEXIST, "the server has program %u, version %u already", interface.program,
                    interface.version);
  }
  services_.push_back({&service, user});
  return 0;
}

int Server::listen(const sockaddr* address, socklen_t length) {
  if (runs_) return refuse(EBUSY, "the server runs: let it listen before");
  const int socket = exs_socket(address->sa_family, SOCK_SEQPACKET, 0);
  if (socket < 0) return refuse(errno, "no socket: %s", exs_errtext());
  listeners_.push_back({socket, true});
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, kSmall);
  sockaddr_storage bound{};
  socklen_t bound_length = sizeof bound;
  if (exs_bind(socket, address, length) != 0 || exs_listen(socket, kBacklog) != 0 ||
      exs_getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &bound_length) != 0 ||
      !post_accept(socket)) {
    const int error = errno;
    refuse(error, "cannot listen: %s", exs_errtext());
    exs_close(socket);
    listeners_.pop_back();
    errno = error;
    return -1;
  }
  return port_of(bound);
}

int Server::run() {
  if (listeners_.empty()) return refuse(EINVAL, "the server listens nowhere: exs_rpc_server_listen()");
  if (!is_own_process())
    return refuse(EOPNOTSUPP, "a child of fork has no exs of its parent: fork before, or execute a program");
  if (runs_.exchange(true)) return refuse(EBUSY, "the server runs");
  std::vector<std::thread> threads;
  int error = 0;
  try {
    start(threads);
    workers_.front()->run(stops_, *this);
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  stop();
  for (std::thread& thread : threads) thread.join();
  stops_ = false;
  runs_ = false;
  return error == 0 ? 0 : refuse(error, "the server ends: %s", std::strerror(error));
}

// The threads of the workers behind the first.
void Server::start(std::vector<std::thread>& threads) {
  const NoSignals signals;
  for (std::size_t i = 1; i < workers_.size(); ++i)
    threads.emplace_back([this, i] { workers_[i]->run(stops_, *this); });
}

void Server::stop() {
  stops_ = true;
  for (const auto& worker : workers_) worker->wake();
}

bool Server::post_accept(int listener) const {
  return exs_accept(listener, nullptr, EXS_MULTISHOT, workers_.front()->queue(), kAccepts) == 0;
}

// An accept ends only for want of memory.
bool Server::take(const exs_event_t& event) {
  if (event.exs_evt_errno == 0) accept(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
  if ((event.exs_evt_flags & EXS_EVF_MORE) != 0) return true;
  for (Listener& listener : listeners_)
    if (listener.socket == event.exs_evt_socket) listener.accepts = false;
  return false;
}

bool Server::accept_again() {
  bool all_accept = true;
  for (Listener& listener : listeners_) {
    listener.accepts = listener.accepts || post_accept(listener.socket);
    all_accept &= listener.accepts;
  }
  return all_accept;
}

// A new client goes to the worker with the fewest clients.
void Server::accept(int socket) {
  const auto fewest =
      std::min_element(workers_.begin(), workers_.end(),
                       [](const auto& one, const auto& other) { return one->clients() < other->clients(); });
  if (!(*fewest)->adopt(socket)) close_at_once(socket);
}

}  // namespace exs::rpc
