// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/server.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/no_signals.h"
#include "base/refusal.h"
#include "base/socket_address.h"
#include "rpc/channel/close_socket.h"
#include "rpc/channel/open_socket.h"
#include "rpc/channel/process.h"
#include "rpc/fast/named_refusal.h"

namespace exs::rpc {
namespace {

constexpr int kBacklog = 1024;
constexpr exs_ahandle_t kAccepts = nullptr;

// Binds the socket and lets it listen. Returns its port.
Result<int> bind_and_listen(int socket, const sockaddr& address, socklen_t length) {
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, kSmall);
  sockaddr_storage bound{};
  socklen_t bound_length = sizeof bound;
  if (exs_bind(socket, &address, length) != 0 || exs_listen(socket, kBacklog) != 0 ||
      exs_getsockname(socket, as_sockaddr(bound), &bound_length) != 0)
    return failure(errno);
  return port_number(bound);
}

}  // namespace

Server::~Server() {
  for (const ServerListener& listener : listeners_) close_socket(listener.socket);
  workers_.clear();
}

Status Server::make_workers(std::uint32_t threads) {
  const Status started = start_library();
  if (!started.ok())
    return refuse_in_words(started.error(), {"exs does not start: ", std::strerror(started.error())});
  for (std::uint32_t i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<ServerWorker>(services_, settings_, tokens_, clients_));
    const Status made = workers_.back()->make_queue();
    if (!made.ok()) return refuse_in_words(made.error(), {"no queue for a thread: ", exs_errtext()});
  }
  return {};
}

Status Server::add_service(const exs_rpc_service_t& service, void* user) {
  if (runs_) return refuse(EBUSY, "the server runs: add what it serves before");
  const exs_rpc_interface_t& interface = *service.interface;
  if (interface.procedures_count > kProceduresMax)
    return refuse_in_words(EINVAL, {interface.name, " has too many procedures"});
  for (const ServedInterface& other : services_) {
    const exs_rpc_interface_t& known = *other.service->interface;
    if (known.program == interface.program && known.version == interface.version)
      return refuse(EEXIST, "the server has program {}, version {} already", interface.program,
                    interface.version);
  }
  services_.push_back({&service, user});
  return {};
}

Result<int> Server::listen(const sockaddr& address, socklen_t length) {
  if (runs_) return failure(refuse(EBUSY, "the server runs: let it listen before"));
  listeners_.reserve(listeners_.size() + 1);
  const int socket = open_socket(address.sa_family, "rpc");
  if (socket < 0) return failure(refuse_in_words(errno, {"no socket: ", exs_errtext()}));
  const Result<int> port = bind_and_listen(socket, address, length);
  const Status posted = port ? post_accept(socket) : port.error();
  if (posted.ok()) {
    listeners_.push_back({socket, true});
    return port;
  }
  const Status why = refuse_in_words(posted.error(), {"cannot listen: ", exs_errtext()});
  close_socket(socket);
  return failure(why);
}

Status Server::run() {
  if (listeners_.empty()) return refuse(EINVAL, "the server listens nowhere: exs_rpc_server_listen()");
  if (!is_own_process())
    return refuse(EOPNOTSUPP, "a child of fork has no exs of its parent: fork before, or execute a program");
  if (runs_.exchange(true)) return refuse(EBUSY, "the server runs");
  const Status served = serve();
  stops_ = false;
  runs_ = false;
  if (served.ok()) return {};
  return refuse_in_words(served.error(), {"the server ends: ", std::strerror(served.error())});
}

Status Server::serve() {
  std::vector<std::thread> threads;
  Status served;
  try {
    start_threads(threads);
    workers_.front()->run(stops_, *this);
  } catch (const std::system_error& failure) {
    served = Status(failure.code().value());
  } catch (const std::bad_alloc&) {
    served = Status(ENOMEM);
  }
  stop();
  for (std::thread& thread : threads) thread.join();
  return served;
}

// The threads of the workers behind the first.
void Server::start_threads(std::vector<std::thread>& threads) {
  const NoSignals signals;
  threads.reserve(workers_.size());
  for (std::size_t i = 1; i < workers_.size(); ++i)
    threads.emplace_back([this, i] { workers_[i]->run(stops_, *this); });
}

void Server::stop() {
  stops_ = true;
  for (const auto& worker : workers_) worker->wake();
}

Status Server::post_accept(int listener) const {
  return kernel_status(exs_accept(listener, nullptr, EXS_MULTISHOT, workers_.front()->queue(), kAccepts));
}

// An accept ends only for want of memory.
bool Server::take_accept(const exs_event_t& event) {
  if (event.exs_evt_errno == 0) accept_client(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
  if ((event.exs_evt_flags & EXS_EVF_MORE) != 0) return true;
  for (ServerListener& listener : listeners_)
    if (listener.socket == event.exs_evt_socket) listener.accepts = false;
  return false;
}

bool Server::accept_again() {
  bool all_accept = true;
  for (ServerListener& listener : listeners_) {
    listener.accepts = listener.accepts || post_accept(listener.socket).ok();
    all_accept &= listener.accepts;
  }
  return all_accept;
}

// A new client goes to the worker with the fewest clients.
void Server::accept_client(int socket) {
  const auto fewest =
      std::min_element(workers_.begin(), workers_.end(),
                       [](const auto& one, const auto& other) { return one->clients() < other->clients(); });
  if (!(*fewest)->adopt_client(socket)) close_at_once(socket);
}

}  // namespace exs::rpc
