// exs_fcntl: wishes before the connection, what was agreed after it.
#include <climits>
#include <cstdarg>
#include <cstring>

#include "src/api/api_call.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

// The agreement of a connection that stands or stood; nothing before.
bool is_connected(Socket& socket) {
  const Session* session = socket.session();
  return session != nullptr && session->state() != Session::State::kIdle &&
         session->state() != Session::State::kConnecting;
}

bool too_late(Socket& socket) EXS_REQUIRES(socket.mutex) {
  return socket.session() != nullptr || socket.backlog() > 0;
}

template <typename T>
Status put(T* into, T value) {
  if (into == nullptr) return Status(EFAULT);
  *into = value;
  return Status();
}

Status put_negotiated(int* into, int wish, const std::uint32_t proto::Agreement::*member, Socket& socket) {
  return put(into, is_connected(socket) ? static_cast<int>(socket.session()->agreement().*member) : wish);
}

template <typename T, typename Wish>
Status set_wish(Socket& socket, Wish wish, Wish lowest, Wish highest, T& option) EXS_REQUIRES(socket.mutex) {
  if (wish < lowest || wish > highest) return Status(EINVAL);
  if (too_late(socket)) return Status(EISCONN);
  option = static_cast<T>(wish);
  return Status();
}

Status set_provider(Socket& socket, const char* name) EXS_REQUIRES(socket.mutex) {
  if (name == nullptr) return Status(EFAULT);
  if (const auto found = find_provider(name); !found) return found.error();
  if (too_late(socket)) return Status(EISCONN);
  socket.options().provider = name;
  return Status();
}

Status get_provider(Socket& socket, const char** into) EXS_REQUIRES(socket.mutex) {
  const auto found = find_provider(socket.options().provider);
  if (is_connected(socket) && found) return put(into, (*found)->name().data());
  return put(into, static_cast<const char*>(socket.options().provider.c_str()));
}

Status set_operations_max(Socket& socket, int wish) EXS_REQUIRES(socket.mutex) {
  if (wish < 1 || wish > EXS_OPS_MAX) return Status(EINVAL);
  socket.options().operations_max = wish;
  if (Session* session = socket.session()) session->set_operations_max(static_cast<std::uint32_t>(wish));
  return Status();
}

Status set_linger(Socket& socket, int wish_ms) EXS_REQUIRES(socket.mutex) {
  if (wish_ms < 0) return Status(EINVAL);
  socket.options().linger_ms = wish_ms;
  return Status();
}

int connect_timeout_ms(Socket& socket) EXS_REQUIRES(socket.mutex) {
  if (socket.options().connect_timeout_ms > 0) return socket.options().connect_timeout_ms;
  return socket.backlog() > 0 ? SocketOptions::kListenDefaultMs : SocketOptions::kConnectDefaultMs;
}

Status run_command(Socket& socket, int command, va_list arguments) EXS_REQUIRES(socket.mutex) {
  SocketOptions& options = socket.options();
  proto::Wishes& wishes = options.wishes;
  switch (command) {
    case EXS_F_GET_SMALL_MAX:
      return put<std::size_t>(va_arg(arguments, std::size_t*), is_connected(socket)
                                                                   ? socket.session()->agreement().small_bytes
                                                                   : wishes.small_bytes);
    case EXS_F_SET_SMALL_MAX:
      return set_wish<std::uint32_t, std::size_t>(socket, va_arg(arguments, std::size_t), 0, EXS_SMALL_MAX,
                                                  wishes.small_bytes);
    case EXS_F_GET_SEND_CREDITS:
      return put_negotiated(va_arg(arguments, int*), static_cast<int>(wishes.send_credits),
                            &proto::Agreement::send_credits, socket);
    case EXS_F_SET_SEND_CREDITS:
      return set_wish(socket, va_arg(arguments, int), 1, EXS_CREDITS_MAX, wishes.send_credits);
    case EXS_F_GET_RECV_CREDITS:
      return put_negotiated(va_arg(arguments, int*), static_cast<int>(wishes.receive_credits),
                            &proto::Agreement::receive_credits, socket);
    case EXS_F_SET_RECV_CREDITS:
      return set_wish(socket, va_arg(arguments, int), 1, EXS_CREDITS_MAX, wishes.receive_credits);
    case EXS_F_GET_MAX_OPS: return put(va_arg(arguments, int*), options.operations_max);
    case EXS_F_SET_MAX_OPS: return set_operations_max(socket, va_arg(arguments, int));
    case EXS_F_GET_PROVIDER: return get_provider(socket, va_arg(arguments, const char**));
    case EXS_F_SET_PROVIDER: return set_provider(socket, va_arg(arguments, const char*));
    case EXS_F_GET_CONNECT_TIMEOUT_MS: return put(va_arg(arguments, int*), connect_timeout_ms(socket));
    case EXS_F_SET_CONNECT_TIMEOUT_MS:
      return set_wish(socket, va_arg(arguments, int), 1, INT_MAX, options.connect_timeout_ms);
    case EXS_F_GET_LINGER_MS: return put(va_arg(arguments, int*), options.linger_ms);
    case EXS_F_SET_LINGER_MS: return set_linger(socket, va_arg(arguments, int));
    default: return Status(EINVAL);
  }
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_fcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const int result = api_call([&](Library& library) -> Result<int> {
    const auto socket = library.sockets.find(number);
    if (!socket) return failure(EBADF);
    LockGuard guard(socket->mutex);
    return api_result(run_command(*socket, command, arguments));
  });
  va_end(arguments);
  return result;
}
