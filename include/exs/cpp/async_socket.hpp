// A socket whose operations coroutines await.
#ifndef EXS_CPP_ASYNC_SOCKET_HPP
#define EXS_CPP_ASYNC_SOCKET_HPP

#include <exs/cpp/awaiting.hpp>

namespace exs::cpp {

struct Accepted;

namespace detail {

struct ReadResult {
  Result operator()(const Event& event) const noexcept { return event.result(); }
};
struct ReadError {
  std::error_code operator()(const Event& event) const noexcept { return event.error(); }
};
struct ReadAccepted {
  Loop* loop;
  inline Accepted operator()(const Event& event) const noexcept;
};
struct PostAccept {
  int socket;
  int operator()(exs_qhandle_t queue, void* handle) const noexcept {
    return exs_accept(socket, nullptr, 0, queue, handle);
  }
};

// Refuses the flags that give no event, or several: an awaiting coroutine needs exactly one.
template <typename Post>
auto transfer(Loop* loop, int flags, Post post) {
  const auto checked_post = [flags, post](exs_qhandle_t queue, void* handle) {
    if ((flags & (EXS_NO_EVENT | EXS_NOTIFY)) == 0) return post(queue, handle);
    errno = EOPNOTSUPP;
    return -1;
  };
  return Awaiting(loop, checked_post, ReadResult());
}

}  // namespace detail

// Every co_await resumes exactly once, with the result, also when the operation is cancelled, when the socket
// is closed, destroyed or moved meanwhile, and when its loop is destroyed. The memory of an operation must
// stay valid until then.
//
// Destroying an open socket closes it without blocking.
class AsyncSocket {
 public:
  AsyncSocket() noexcept = default;
  explicit AsyncSocket(Loop& loop, int type = SOCK_SEQPACKET, int family = AF_INET)
      : AsyncSocket(loop, Socket::create(type, family)) {}
  AsyncSocket(Loop& loop, Socket socket) noexcept : attached_(loop, std::move(socket)) {}

  // For set-up calls and for operations that no coroutine awaits. Do not close or move the socket.
  [[nodiscard]] Socket* operator->() noexcept { return &attached_.socket(); }
  [[nodiscard]] const Socket* operator->() const noexcept { return &attached_.socket(); }
  [[nodiscard]] bool is_open() const noexcept { return attached_.socket().is_open(); }

  // --- co_await gives a Result ---
  auto send(std::span<const std::byte> bytes, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED,
            int flags = 0) const {
    return detail::transfer(
        attached_.loop(), flags, [=, socket = number()](exs_qhandle_t queue, void* handle) {
          return exs_send(socket, bytes.data(), bytes.size(), flags, queue, handle, region);
        });
  }
  auto recv(std::span<std::byte> into, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED, int flags = 0) const {
    return detail::transfer(attached_.loop(), flags,
                            [=, socket = number()](exs_qhandle_t queue, void* handle) {
                              return exs_recv(socket, into.data(), into.size(), flags, queue, handle, region);
                            });
  }
  // At an offset of the peer's persistent memory.
  auto send_at(std::uint64_t offset, std::span<const std::byte> bytes,
               exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED, int flags = 0) const {
    return detail::transfer(
        attached_.loop(), flags, [=, socket = number()](exs_qhandle_t queue, void* handle) {
          return exs_send_offset(socket, bytes.data(), bytes.size(), flags, queue, handle, region, offset);
        });
  }
  auto recv_at(std::uint64_t offset, std::span<std::byte> into,
               exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED, int flags = 0) const {
    return detail::transfer(
        attached_.loop(), flags, [=, socket = number()](exs_qhandle_t queue, void* handle) {
          return exs_recv_offset(socket, into.data(), into.size(), flags, queue, handle, region, offset);
        });
  }

  // --- co_await gives a std::error_code ---
  auto connect(const Address& address) const {
    const auto post = [address, socket = number()](exs_qhandle_t queue, void* handle) {
      return exs_connect(socket, address.get(), address.length(), 0, queue, handle);
    };
    return Awaiting(attached_.loop(), post, detail::ReadError());
  }
  // Completes when the peer has been told; with SHUT_WR, after the sends that were posted before.
  auto shutdown(int how) const {
    const auto post = [how, socket = number()](exs_qhandle_t queue, void* handle) {
      return exs_shutdown_async(socket, how, queue, handle);
    };
    return Awaiting(attached_.loop(), post, detail::ReadError());
  }
  // Closes the socket as soon as it is awaited. Operations that other coroutines await complete.
  auto close() {
    const auto post = [this](exs_qhandle_t queue, void* handle) {
      const int result = exs_close_async(number(), 0, queue, handle);
      if (result == 0) {
        static_cast<void>(attached_.socket().release());
        attached_.detach();
      }
      return result;
    };
    return Awaiting(attached_.loop(), post, detail::ReadError());
  }

  // --- co_await gives an Accepted ---
  // The new socket belongs to the loop of this socket, or to `loop`, which then runs the awaiting coroutine.
  auto accept() const { return accept(attached_.loop()); }
  auto accept(Loop& loop) const { return accept(&loop); }

  // Cancels all operations that have not started, with ECANCELED. Returns how many match.
  int cancel() const noexcept { return attached_.socket().cancel(); }

 private:
  [[nodiscard]] int number() const noexcept { return attached_.socket().number(); }
  [[nodiscard]] Awaiting<detail::PostAccept, detail::ReadAccepted> accept(Loop* loop) const {
    return {loop, {number()}, {loop}};
  }

  detail::Attached attached_;
};

struct Accepted {
  std::error_code error;
  AsyncSocket socket;
};

inline Accepted detail::ReadAccepted::operator()(const Event& event) const noexcept {
  if (event.new_socket() == -1) return {event.error(), {}};
  return {event.error(), AsyncSocket(*loop, Socket(event.new_socket()))};
}

// As AsyncSocket::accept, for a listening socket that belongs to no loop.
inline Awaiting<detail::PostAccept, detail::ReadAccepted> accept(Loop& loop, const Socket& listening) {
  return {&loop, {listening.number()}, {&loop}};
}

}  // namespace exs::cpp

#endif  // EXS_CPP_ASYNC_SOCKET_HPP
