// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/adopt.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "base/socket_address.h"
#include "base/socket_cookie.h"
#include "event/session/plain_session.h"
#include "src/api/counters.h"
#include "src/api/refusals.h"
#include "src/log/log.h"
#include "src/provider/own_sockets.h"

namespace exs {
namespace {

int option_of(int number, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return kernel::getsockopt(number, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

bool is_usable_stream(int number, int domain) {
  if (option_of(number, SO_TYPE) != SOCK_STREAM) return false;
  if (domain == AF_UNIX) return true;
  return (domain == AF_INET || domain == AF_INET6) && option_of(number, SO_PROTOCOL) == IPPROTO_TCP;
}

// True: the connection broke before the first exs call. The events of its operations report that.
bool was_connected(int number) {
  constexpr std::uint8_t kClosed = 7;  // TCP_CLOSE, which only netinet/tcp.h has
  tcp_info info{};
  socklen_t length = sizeof info;
  return kernel::getsockopt(number, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state == kClosed && info.tcpi_segs_out > 0;
}

Adopted state_of(int number) {
  if (option_of(number, SO_ACCEPTCONN) == 1) return Adopted::kListening;
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  const bool connected = kernel::getpeername(number, as_sockaddr(peer), &length) == 0;
  return connected || was_connected(number) ? Adopted::kConnected : Adopted::kUnconnected;
}

bool needs_home(const Socket& socket) {
  if (socket.session() != nullptr) return false;
  if (socket.adopted() == Adopted::kUnconnected) {
    log(LogLevel::kInfo,
        "kernel socket {}: neither connected nor listening; use connect(2) or listen(2) first",
        socket.number());
  }
  return socket.adopted() == Adopted::kConnected;
}

Status start_session(const std::shared_ptr<Shard>& shard, Socket& socket) {
  if (const Status status = shard->start_engine(); !status.ok()) return status;
  LockGuard guard(socket.mutex);
  if (socket.session() != nullptr) return Status();
  const SessionOptions wishes = socket.options().session(0);
  auto session = std::make_shared<PlainSession>(shard, socket.descriptor(), wishes.operations_max);
  session->set_label(wishes.label);
  if (wishes.keepalive_ns != 0) session->set_keepalive(wishes.keepalive_ns);
  // No other thread knows the session yet.
  session->set_time_limit(proto::Direction::kSend, std::exchange(socket.limits().send, nullptr));
  session->set_time_limit(proto::Direction::kReceive, std::exchange(socket.limits().receive, nullptr));
  socket.connect_with(std::move(session));
  return Status();
}

std::shared_ptr<Socket> adopt(int number) {
  const auto cookie = socket_cookie(number);
  if (!cookie && errno == EBADF) return nullptr;
  if (cookie && OwnSockets::has(number, *cookie)) return nullptr;
  const int domain = cookie ? option_of(number, SO_DOMAIN) : -1;
  if (!cookie || !is_usable_stream(number, domain)) {
    log(LogLevel::kInfo,
        "descriptor {}: EBADF; exs takes its own sockets, and kernel stream sockets (SOCK_STREAM over TCP or "
        "AF_UNIX)",
        number);
    return nullptr;
  }
  return std::make_shared<Socket>(KernelDescriptor::adopt(number, *cookie), domain,
                                  SocketOptions(proto::SocketKind::kStream), state_of(number));
}

// Ends the operations of an adopted socket with ECANCELED: its number means another socket by now, or none. Made before
// the socket leaves the table.
class Abandoning final : public Task {
 public:
  explicit Abandoning(Library& library) : library_(library) {}

  // The caller has removed the socket.
  static void start(std::unique_ptr<Abandoning> abandoning, Socket& socket) {
    {
      LockGuard guard(socket.mutex);
      abandoning->session_ = socket.shared_session();
      abandoning->acceptor_ = socket.acceptor();
    }
    if (!abandoning->session_ && !abandoning->acceptor_) return;
    const auto shard = abandoning->session_ ? abandoning->session_->shard() : abandoning->acceptor_->shard();
    shard->execute(std::move(abandoning));
  }

  void run(Shard&) override {
    if (acceptor_) acceptor_->close({});
    if (!session_) return;
    session_->abort(Status(ECANCELED));
    library_.add_to_totals(stats_on_shard(*session_));
  }

 private:
  Library& library_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Acceptor> acceptor_;
};

std::shared_ptr<Socket> find_adopted(Library& library, int number, const std::shared_ptr<Socket>& known) {
  if (known && known->descriptor()->is_there()) return known;
  auto abandoning = known ? std::make_unique<Abandoning>(library) : nullptr;
  if (known && library.sockets.remove(*known, [] {})) Abandoning::start(std::move(abandoning), *known);
  if (number < 0) return nullptr;
  auto socket = adopt(number);
  if (!socket || socket->adopted() == Adopted::kUnconnected) return socket;
  return library.sockets.insert_if_absent(socket).value_or(nullptr);
}

// The library closes an adopted socket: its number is the library's until then, and is not adopted again.
void take_over(const Socket& socket) {
  if (socket.adopted() == Adopted::kNo) return;
  OwnSockets::add(socket.number(), socket.descriptor()->cookie());
  socket.descriptor()->take_over();
}

}  // namespace

std::shared_ptr<Socket> find_socket(Library& library, int number) {
  auto socket = library.sockets.find(number);
  if (socket && socket->adopted() == Adopted::kNo) return socket;
  return find_adopted(library, number, socket);
}

Status insert_socket(Library& library, const std::shared_ptr<Socket>& socket) {
  auto abandoning = std::make_unique<Abandoning>(library);
  if (socket->adopted() == Adopted::kNo) OwnSockets::add(socket->number());
  const auto before = library.sockets.replace(socket);
  if (!before) return before.error();
  if (!*before) return Status();
  // Its number was closed by a plain call. Threads may use a socket of ours still, this one too: it may
  // have come here by a post that drives the shard.
  if ((*before)->adopted() == Adopted::kNo) library.keep_lost(*before);
  Abandoning::start(std::move(abandoning), **before);
  return Status();
}

std::shared_ptr<Socket> remove_socket(Library& library, int number) {
  auto socket = find_socket(library, number);
  if (!socket) return nullptr;
  if (socket->adopted() == Adopted::kUnconnected) {
    log(LogLevel::kInfo, "kernel socket {}: neither connected nor listening, so not exs's to close: EBADF",
        number);
    return nullptr;
  }
  return library.sockets.remove(*socket, [&] { take_over(*socket); }) ? socket : nullptr;
}

bool release_socket(Library& library, const std::shared_ptr<Socket>& socket) {
  const bool adopted = socket->adopted() != Adopted::kNo;
  const bool to_close = socket->ours() && (!adopted || socket->descriptor()->is_there());
  return library.sockets.remove(*socket, [&] {
    if (to_close) take_over(*socket);
  });
}

Status assign_home(Library& library, Socket& socket, exs_qhandle_t queue_handle) {
  if (!needs_home(socket)) return Status();
  const auto queue = library.queues.find(queue_handle);
  return queue ? start_session(queue->home(), socket) : no_such_queue(queue_handle);
}

Status assign_any_home(Library& library, Socket& socket) {
  if (!needs_home(socket)) return Status();
  const auto shard = library.next_shard();
  return shard ? start_session(*shard, socket) : shard.error();
}

}  // namespace exs
