#include "src/api/adopt.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "event/session/plain_session.h"
#include "src/api/stats.h"
#include "src/base/kernel.h"
#include "src/base/log.h"
#include "src/base/socket_address.h"
#include "src/base/socket_cookie.h"
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

// A connection that broke before the first exs call: that is told by the events of its operations.
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

class Abandon final : public Task {
 public:
  Abandon(Library& library, std::shared_ptr<Session> session, std::shared_ptr<Acceptor> acceptor)
      : library_(library), session_(std::move(session)), acceptor_(std::move(acceptor)) {}
  void run(Shard&) override {
    if (acceptor_) acceptor_->close({});
    if (!session_) return;
    session_->abort(Status(ECANCELED));
    library_.add_to_totals(stats_on_shard(*session_));
  }

 private:
  Library& library_;
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<Acceptor> acceptor_;
};

bool needs_home(const Socket& socket) {
  if (socket.session() != nullptr) return false;
  if (socket.adopted() == Adopted::kUnconnected) {
    log(LogLevel::kWarn,
        "kernel socket %d: neither connected nor listening; use connect(2) or listen(2) first",
        socket.number());
  }
  return socket.adopted() == Adopted::kConnected;
}

Status settle_on(const std::shared_ptr<Shard>& shard, Socket& socket) {
  if (const Status status = shard->start_engine(); !status.ok()) return status;
  LockGuard guard(socket.mutex);
  if (socket.session() != nullptr) return Status();
  const SessionOptions wishes = socket.options().session(0);
  auto session = std::make_shared<PlainSession>(shard, socket.descriptor(), wishes.operations_max);
  if (wishes.keepalive_ns != 0) session->set_keepalive(wishes.keepalive_ns);
  // Nobody else knows the session yet.
  session->set_time_limit(proto::Direction::kSend, std::exchange(socket.limits().send, nullptr));
  session->set_time_limit(proto::Direction::kReceive, std::exchange(socket.limits().receive, nullptr));
  socket.connect_with(std::move(session));
  return Status();
}

}  // namespace

std::shared_ptr<Socket> adopt(int number) {
  const auto cookie = socket_cookie(number);
  if (!cookie && errno == EBADF) return nullptr;
  if (cookie && OwnSockets::has(number, *cookie)) return nullptr;
  const int domain = cookie ? option_of(number, SO_DOMAIN) : -1;
  if (!cookie || !is_usable_stream(number, domain)) {
    log(LogLevel::kWarn,
        "descriptor %d: EBADF; exs takes its own sockets, and kernel stream sockets (SOCK_STREAM over TCP or "
        "AF_UNIX)",
        number);
    return nullptr;
  }
  return std::make_shared<Socket>(std::make_shared<KernelDescriptor>(number, *cookie), domain,
                                  SocketOptions(proto::SocketKind::kStream), state_of(number));
}

void abandon(Library& library, const std::shared_ptr<Socket>& socket) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Acceptor> acceptor;
  {
    LockGuard guard(socket->mutex);
    session = socket->shared_session();
    acceptor = socket->acceptor();
  }
  if (!session && !acceptor) return;
  const auto shard = session ? session->shard() : acceptor->shard();
  shard->execute(std::make_unique<Abandon>(library, std::move(session), std::move(acceptor)));
}

Status settle(Library& library, Socket& socket, exs_qhandle_t queue_handle) {
  if (!needs_home(socket)) return Status();
  const auto queue = library.queues.find(queue_handle);
  return queue ? settle_on(queue->home(), socket) : Status(EBADF);
}

Status settle_anywhere(Library& library, Socket& socket) {
  if (!needs_home(socket)) return Status();
  const auto shard = library.next_shard();
  return shard ? settle_on(*shard, socket) : shard.error();
}

}  // namespace exs
