// exs_fcntl: sets limits before the connection, and returns the agreed limits after it.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdarg>

#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/options.h"

namespace exs {
namespace {

template <typename T>
Status put(T* into, T value) {
  if (into == nullptr) return null_argument();
  *into = value;
  return Status();
}

Status put_negotiated(int* into, int wish, const std::uint32_t proto::Agreement::*member, Socket& socket) {
  return put(into, is_connected(socket) ? static_cast<int>(socket.session()->agreement().*member) : wish);
}

template <typename T, typename Wish>
Status set_wish(Socket& socket, Wish wish, Wish lowest, Wish highest, T& option) EXS_REQUIRES(socket.mutex) {
  if (wish < lowest || wish > highest)
    return out_of_range(static_cast<std::int64_t>(wish), static_cast<std::int64_t>(lowest),
                        static_cast<std::int64_t>(highest));
  if (too_late(socket)) return set_too_late();
  option = static_cast<T>(wish);
  return Status();
}

Status set_operations_max(Socket& socket, int wish) EXS_REQUIRES(socket.mutex) {
  if (wish < 1 || wish > EXS_OPS_MAX) return out_of_range(wish, 1, EXS_OPS_MAX);
  socket.options().operations_max = wish;
  if (Session* session = socket.session()) session->set_operations_max(static_cast<std::uint32_t>(wish));
  return Status();
}

// What the program wishes is also the most.
Status set_receive_credits(Socket& socket, int wish) EXS_REQUIRES(socket.mutex) {
  proto::Wishes& wishes = socket.options().wishes;
  const Status status = set_wish(socket, wish, 1, EXS_CREDITS_MAX, wishes.receive_credits);
  if (status.ok()) wishes.receive_credits_max = wishes.receive_credits;
  return status;
}

Status run_command(Socket& socket, int command, va_list arguments) EXS_REQUIRES(socket.mutex) {
  SocketOptions& options = socket.options();
  proto::Wishes& wishes = options.wishes;
  const bool of_any_socket = command == EXS_F_GET_MAX_OPS || command == EXS_F_SET_MAX_OPS;
  if (socket.adopted() != Adopted::kNo && !of_any_socket)
    return refuse(ENOTSUP, "a socket of the kernel has EXS_F_GET_MAX_OPS and EXS_F_SET_MAX_OPS alone");
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
    case EXS_F_SET_RECV_CREDITS: return set_receive_credits(socket, va_arg(arguments, int));
    case EXS_F_GET_MAX_OPS: return put(va_arg(arguments, int*), options.operations_max);
    case EXS_F_SET_MAX_OPS: return set_operations_max(socket, va_arg(arguments, int));
    default: return refuse(EINVAL, "{} is no command of exs_fcntl: give one of EXS_F_*", command);
  }
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_fcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const int result = api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    LockGuard guard(socket->mutex);
    return api_result(run_command(*socket, command, arguments));
  });
  va_end(arguments);
  return result;
}
