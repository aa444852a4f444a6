// exs_setsockopt, exs_getsockopt: the options of level SOL_EXS; other levels are the kernel socket's.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/options.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>

#include "base/kernel.h"
#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/label.h"
#include "src/api/reasons.h"
#include "src/provider/registry.h"

namespace exs {

bool is_connected(const Socket& socket) {
  const Session* session = socket.session();
  return session != nullptr && session->state() != Session::State::kIdle &&
         session->state() != Session::State::kConnecting;
}

bool too_late(Socket& socket) {
  return socket.session() != nullptr || socket.backlog() > 0;
}

Status set_too_late() {
  return refuse(EISCONN, "the peer may know the old value: set it before connect or listen");
}

namespace {

Status no_such_option(int option) {
  return refuse(ENOPROTOOPT,
                "{:#x} is no option of this level that the call takes: exs_setsockopt(3) lists them", option);
}

// The caller's value of exs_setsockopt, and room for that of exs_getsockopt.
struct Given {
  const void* value;
  socklen_t length;

  template <typename T>
  [[nodiscard]] Result<T> as() const {
    if (length != sizeof(T)) return failure(wrong_size(length, sizeof(T)));
    T copy;
    std::memcpy(&copy, value, sizeof copy);
    return copy;
  }
};

struct Room {
  void* value;
  socklen_t* length;

  template <typename T>
  Status put(const T& found) const {
    if (*length < sizeof found) return wrong_size(*length, sizeof found);
    std::memcpy(value, &found, sizeof found);
    *length = sizeof found;
    return Status();
  }
  Status put_text(std::string_view text) const {
    if (*length <= text.size()) return wrong_size(*length, text.size() + 1);
    std::memcpy(value, text.data(), text.size());
    static_cast<char*>(value)[text.size()] = '\0';
    *length = static_cast<socklen_t>(text.size() + 1);
    return Status();
  }
};

struct Range {
  int lowest;
  int highest;
};

Result<int> number_within(const Given& given, Range range) {
  const auto wish = given.as<int>();
  if (wish && (*wish < range.lowest || *wish > range.highest))
    return failure(out_of_range(*wish, range.lowest, range.highest));
  return wish;
}

Status set_number(const Given& given, Range range, int& option) {
  const auto wish = number_within(given, range);
  if (wish) option = *wish;
  return wish ? Status() : wish.error();
}

Status set_connect_timeout(Socket& socket, const Given& given) EXS_REQUIRES(socket.mutex) {
  const auto wish = number_within(given, {1, INT_MAX});
  if (!wish) return wish.error();
  if (too_late(socket)) return set_too_late();
  socket.options().connect_timeout_ms = *wish;
  return Status();
}

Status set_keepalive(Socket& socket, const Given& given) EXS_REQUIRES(socket.mutex) {
  if (const Status status = set_number(given, {0, INT_MAX}, socket.options().keepalive_ms); !status.ok())
    return status;
  const auto session = socket.shared_session();
  if (!session) return Status();
  const std::uint64_t period_ns = static_cast<std::uint64_t>(socket.options().keepalive_ms) * kNsPerMs;
  session->shard()->carry_out([&] { session->set_keepalive(period_ns); });
  return Status();
}

// The slot for notices is reserved before anything changes. The socket keeps the limit until it has a
// session.
Status set_time_limit(Library& library, Socket& socket, proto::Direction direction, const Given& given)
    EXS_REQUIRES(socket.mutex) {
  const auto wish = given.as<exs_timeout_t>();
  if (!wish) return wish.error();
  if (wish->ns < 0 || (wish->flags & ~std::uint32_t{EXS_TIMEOUT_ONCE | EXS_TIMEOUT_CANCEL}) != 0)
    return refuse(EINVAL, "ns is {} and flags {:#x}: ns is 0 or more, flags are of EXS_TIMEOUT_*", wish->ns,
                  wish->flags);
  TimeLimitWish asked{*wish, nullptr};
  std::shared_ptr<TimeLimit> limit;
  if (asked.is_set()) {
    asked.queue = library.queues.find(wish->queue);
    if (!asked.queue) return no_such_queue(wish->queue);
    if (const Status status = asked.queue->home()->start_engine(); !status.ok()) return status;
    limit = TimeLimit::create(asked, direction, socket.descriptor());
    if (!limit) return queue_is_full(*asked.queue);
  }
  const bool sends = direction == proto::Direction::kSend;
  if (const auto session = socket.shared_session()) {
    session->shard()->carry_out([&] { session->set_time_limit(direction, std::move(limit)); });
  } else {
    (sends ? socket.limits().send : socket.limits().receive) = std::move(limit);
  }
  (sends ? socket.options().send_limit : socket.options().receive_limit) = asked;
  return Status();
}

Status set_nodelay(Socket& socket, const Given& given) EXS_REQUIRES(socket.mutex) {
  if (const Status status = set_number(given, {0, 1}, socket.options().nodelay); !status.ok()) return status;
  const auto session = socket.shared_session();
  if (!session) return Status();
  const bool nodelay = socket.options().nodelay == 1;
  session->shard()->carry_out([&] { session->set_nodelay(nodelay); });
  return Status();
}

// The text, with or without its terminating zero.
std::string_view text_in(const Given& given) {
  const std::string_view text(static_cast<const char*>(given.value), given.length);
  return text.substr(0, text.find('\0'));
}

Status set_provider(Socket& socket, const Given& given) EXS_REQUIRES(socket.mutex) {
  const std::string_view name = text_in(given);
  if (const auto choice = choice_of(name); !choice) return choice.error();
  if (too_late(socket)) return set_too_late();
  socket.options().provider = name;
  return Status();
}

Status set_label(Socket& socket, const Given& given) EXS_REQUIRES(socket.mutex) {
  const std::string_view label = text_in(given);
  if (const Status status = check_label(label); !status.ok()) return status;
  socket.options().label = label;
  const auto session = socket.shared_session();
  if (session) session->shard()->carry_out([&] { session->set_label(label); });
  return Status();
}

Status get_provider(Socket& socket, const Room& room) EXS_REQUIRES(socket.mutex) {
  return room.put_text(is_connected(socket) ? socket.session()->carrier() : socket.options().provider);
}

// There are no findings without a session.
Status get_reasons(Socket& socket, const Room& room) EXS_REQUIRES(socket.mutex) {
  Session* const session = socket.session();
  return put_reasons(session == nullptr ? Explanation() : session->explanation(), room.value, room.length);
}

// Cut to the room.
Status get_error_text(Socket& socket, const Room& room) EXS_REQUIRES(socket.mutex) {
  if (*room.length == 0) return wrong_size(0, 1);
  Session* const session = socket.session();
  const std::string text = session == nullptr ? std::string() : session->error_text();
  return room.put_text(std::string_view(text).substr(0, *room.length - 1));
}

// EAGAIN: a receive would wait. 0: the end of the peer's sending, or an empty message.
Status get_next_length(Socket& socket, const Room& room) EXS_REQUIRES(socket.mutex) {
  Session* const session = socket.session();
  if (session == nullptr || session->state() != Session::State::kConnected) return Status(ENOTCONN);
  proto::Readiness ready;
  session->shard()->inspect([&] { ready = session->readiness(); });
  if (!ready.receive) return Status(EAGAIN);
  return room.put(ready.next_bytes);
}

int connect_timeout_ms(Socket& socket) EXS_REQUIRES(socket.mutex) {
  if (socket.options().connect_timeout_ms > 0) return socket.options().connect_timeout_ms;
  return socket.backlog() > 0 ? SocketOptions::kListenDefaultMs : SocketOptions::kConnectDefaultMs;
}

Status set_option(Library& library, Socket& socket, int option, const Given& given)
    EXS_REQUIRES(socket.mutex) {
  SocketOptions& options = socket.options();
  switch (option) {
    case SO_ASYNC_RECV_ORDERED: return set_number(given, {0, 1}, options.receives_ordered);
    case SO_ASYNC_SEND_TIMEOUT: return set_time_limit(library, socket, proto::Direction::kSend, given);
    case SO_ASYNC_RECV_TIMEOUT: return set_time_limit(library, socket, proto::Direction::kReceive, given);
    case EXS_SO_KEEPALIVE_MS: return set_keepalive(socket, given);
    case EXS_SO_CONNECT_TIMEOUT_MS: return set_connect_timeout(socket, given);
    case EXS_SO_LINGER_MS: return set_number(given, {0, INT_MAX}, options.linger_ms);
    case EXS_SO_NODELAY: return set_nodelay(socket, given);
    case EXS_SO_PROVIDER: return set_provider(socket, given);
    case EXS_SO_LABEL: return set_label(socket, given);
    default: return no_such_option(option);
  }
}

Status get_option(Socket& socket, int option, const Room& room) EXS_REQUIRES(socket.mutex) {
  const SocketOptions& options = socket.options();
  switch (option) {
    case SO_ASYNC_RECV_ORDERED: return room.put(options.receives_ordered);
    case SO_ASYNC_SEND_TIMEOUT: return room.put(options.send_limit.timeout);
    case SO_ASYNC_RECV_TIMEOUT: return room.put(options.receive_limit.timeout);
    case EXS_SO_KEEPALIVE_MS: return room.put(options.keepalive_ms);
    case EXS_SO_CONNECT_TIMEOUT_MS: return room.put(connect_timeout_ms(socket));
    case EXS_SO_LINGER_MS: return room.put(options.linger_ms);
    case EXS_SO_NODELAY: return room.put(options.nodelay);
    case EXS_SO_PROVIDER: return get_provider(socket, room);
    case EXS_SO_LABEL: return room.put_text(options.label);
    case EXS_SO_REASON: return get_reasons(socket, room);
    case EXS_SO_NEXT_LENGTH: return get_next_length(socket, room);
    case EXS_SO_ERROR_TEXT: return get_error_text(socket, room);
    default: return no_such_option(option);
  }
}

// ES-API defines its options at level SOL_SOCKET.
bool is_ours(int level, int option) {
  return level == SOL_EXS ||
         (level == SOL_SOCKET && option >= SO_ASYNC_RECV_ORDERED && option <= SO_ASYNC_RECV_TIMEOUT);
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_setsockopt(int number, int level, int option, const void* value, socklen_t length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (!is_ours(level, option)) {
      return api_result(kernel_status(kernel::setsockopt(number, level, option, value, length)));
    }
    if (value == nullptr) return failure(null_argument());
    LockGuard guard(socket->mutex);
    return api_result(set_option(library, *socket, option, {value, length}));
  });
}

int exs_getsockopt(int number, int level, int option, void* value, socklen_t* length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (value == nullptr || length == nullptr) return failure(null_argument());
    if (is_ours(level, option) && option == EXS_SO_NEXT_LENGTH) {
      if (const Status status = assign_any_home(library, *socket); !status.ok()) return failure(status);
    }
    LockGuard guard(socket->mutex);
    const Room room{value, length};
    if (is_ours(level, option)) return api_result(get_option(*socket, option, room));
    if (level == SOL_SOCKET && option == SO_TYPE) {  // the kernel's answer is the type of the TCP socket
      const bool messages = socket->options().wishes.kind == proto::SocketKind::kMessage;
      return api_result(room.put<int>(messages ? SOCK_SEQPACKET : SOCK_STREAM));
    }
    return api_result(kernel_status(kernel::getsockopt(number, level, option, value, length)));
  });
}
