// exs_socket, exs_bind, exs_listen, exs_connect, exs_accept, exs_getsockname, exs_getpeername.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "src/api/api_call.h"
#include "src/base/log.h"

namespace exs {
namespace {

class Connect final : public Task {
 public:
  Connect(std::shared_ptr<LinkSession> session, const sockaddr* peer, socklen_t peer_bytes,
          ControlTarget target)
      : session_(std::move(session)), peer_bytes_(peer_bytes), target_(std::move(target)) {
    std::memcpy(&peer_, peer, peer_bytes);
  }
  void run(Shard&) override { session_->connect(peer_, peer_bytes_, std::move(target_)); }

 private:
  const std::shared_ptr<LinkSession> session_;
  sockaddr_storage peer_{};
  const socklen_t peer_bytes_;
  ControlTarget target_;
};

class PostAccept final : public Task {
 public:
  PostAccept(std::shared_ptr<Acceptor> acceptor, Acceptor::Accept accept)
      : acceptor_(std::move(acceptor)), accept_(std::move(accept)) {}
  void run(Shard&) override { acceptor_->post(std::move(accept_)); }

 private:
  const std::shared_ptr<Acceptor> acceptor_;
  Acceptor::Accept accept_;
};

Result<ControlTarget> target_of(Library& library, exs_qhandle_t handle, exs_ahandle_t ahandle) {
  auto queue = library.queues.find(handle);
  if (!queue) return failure(EBADF);
  if (const Status status = queue->home()->start_engine(); !status.ok()) return failure(status);
  if (!queue->reserve()) return failure(EAGAIN);
  return ControlTarget{std::move(queue), ahandle};
}

Status check_address(const Socket& socket, const sockaddr* address, socklen_t length) {
  if (address == nullptr) return Status(EFAULT);
  if (length < sizeof(sa_family_t) || length > sizeof(sockaddr_storage)) return Status(EINVAL);
  if (address->sa_family != socket.domain()) return Status(EAFNOSUPPORT);
  const std::size_t needed = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return length < needed ? Status(EINVAL) : Status();
}

Status kernel_result(int result) {
  return result == 0 ? Status() : Status(errno);
}

Status connect_socket(Library& library, Socket& socket, const sockaddr* address, socklen_t length,
                      exs_qhandle_t queue, exs_ahandle_t ahandle) {
  LockGuard guard(socket.mutex);
  if (socket.backlog() > 0) return Status(EINVAL);
  if (Session* session = socket.session()) {
    const auto state = session->state();
    const bool under_way = state == Session::State::kIdle || state == Session::State::kConnecting;
    return Status(under_way ? EALREADY : EISCONN);
  }
  if (const Status status = check_address(socket, address, length); !status.ok()) return status;
  auto target = target_of(library, queue, ahandle);
  if (!target) return target.error();
  const auto shard = target->queue->home();
  auto session = std::make_shared<LinkSession>(shard, socket.descriptor(),
                                               socket.options().session(SocketOptions::kConnectDefaultMs));
  socket.connect_with(session);
  shard->execute(std::make_unique<Connect>(std::move(session), address, length, std::move(*target)));
  return Status();
}

// Accepted sockets inherit the listener's options.
RegisterSession registrar(Library& library, int domain, const SocketOptions& options) {
  return [&library, domain, options](const std::shared_ptr<Session>& session) {
    const auto socket = std::make_shared<Socket>(session, domain, options);
    if (const Status status = library.sockets.insert(socket); !status.ok()) session->abort(status);
  };
}

Status accept_on(Library& library, Socket& socket, exs_acceptaddr_t* address, exs_qhandle_t queue,
                 exs_ahandle_t ahandle) {
  LockGuard guard(socket.mutex);
  if (socket.backlog() == 0) return Status(EINVAL);
  auto target = target_of(library, queue, ahandle);
  if (!target) return target.error();
  auto& acceptor = socket.acceptor();
  if (!acceptor) {
    acceptor = std::make_shared<Acceptor>(
        target->queue->home(), socket.descriptor(),
        AcceptorOptions{.session = socket.options().session(SocketOptions::kListenDefaultMs),
                        .backlog = static_cast<std::uint32_t>(socket.backlog())},
        registrar(library, socket.domain(), socket.options()));
  }
  acceptor->shard()->execute(
      std::make_unique<PostAccept>(acceptor, Acceptor::Accept{std::move(*target), address}));
  return Status();
}

using KernelNameCall = int (*)(int, sockaddr*, socklen_t*);

Result<int> name_of(Library& library, int number, sockaddr* address, socklen_t* length,
                    KernelNameCall kernel_call) {
  const auto socket = library.sockets.find(number);
  if (!socket) return failure(EBADF);
  if (address == nullptr || length == nullptr) return failure(EFAULT);
  return api_result(kernel_result(kernel_call(socket->number(), address, length)));
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_socket(int domain, int type, int protocol) {
  return api_call([&](Library& library) -> Result<int> {
    if (domain != AF_INET && domain != AF_INET6) return failure(EAFNOSUPPORT);
    if (type != SOCK_SEQPACKET || protocol != 0) return failure(EPROTONOSUPPORT);
    UniqueFd made(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.valid()) return failure(errno);
    SocketOptions options;
    options.provider = library.provider_wish();
    const auto descriptor = std::make_shared<KernelDescriptor>(std::move(made));
    const auto socket = std::make_shared<Socket>(descriptor, domain, std::move(options));
    if (const Status status = library.sockets.insert(socket); !status.ok()) return failure(status);
    return socket->number();
  });
}

int exs_bind(int number, const struct sockaddr* address, socklen_t length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = library.sockets.find(number);
    if (!socket) return failure(EBADF);
    if (const Status status = check_address(*socket, address, length); !status.ok()) return failure(status);
    // A server started anew must not wait for the last connections of its predecessor to time out.
    const int yes = 1;
    ::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return api_result(kernel_result(::bind(number, address, length)));
  });
}

int exs_listen(int number, int backlog) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = library.sockets.find(number);
    if (!socket) return failure(EBADF);
    LockGuard guard(socket->mutex);
    if (socket->session() != nullptr) return failure(EINVAL);
    const int held = std::clamp(backlog, 1, SOMAXCONN);
    if (const Status status = kernel_result(::listen(number, held)); !status.ok()) return failure(status);
    socket->backlog() = held;
    return 0;
  });
}

int exs_connect(int number, const struct sockaddr* address, socklen_t length, int flags, exs_qhandle_t queue,
                exs_ahandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = library.sockets.find(number);
    if (!socket) return failure(EBADF);
    if (flags != 0) return failure(EINVAL);
    return api_result(connect_socket(library, *socket, address, length, queue, handle));
  });
}

int exs_accept(int number, exs_acceptaddr_t* address, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = library.sockets.find(number);
    if (!socket) return failure(EBADF);
    if (flags != 0) return failure(EINVAL);
    return api_result(accept_on(library, *socket, address, queue, handle));
  });
}

int exs_getsockname(int number, struct sockaddr* address, socklen_t* length) {
  return api_call([&](Library& library) { return name_of(library, number, address, length, ::getsockname); });
}

int exs_getpeername(int number, struct sockaddr* address, socklen_t* length) {
  return api_call([&](Library& library) { return name_of(library, number, address, length, ::getpeername); });
}
