// A socket whose operations coroutines await.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_ASYNC_SOCKET_HPP
#define EXS_CPP_ASYNC_SOCKET_HPP

#include <exs/cpp/arrivals.hpp>
#include <exs/cpp/awaiting.hpp>
#include <exs/cpp/peer_memory.hpp>
#include <exs/cpp/receive_pool.hpp>
#include <exs/cpp/shared_memory.hpp>

namespace exs::cpp {

struct Accepted;

// What a poll found.
struct [[nodiscard]] Polled : Outcome {
  std::uint32_t revents = 0;      // EXS_POLL*
  std::uint64_t next_length = 0;  // EXS_POLLIN: of the message that the next receive gets

  std::uint32_t value() const {
    Outcome::value();
    return revents;
  }
};

namespace detail {

struct ReadPolled {
  Polled operator()(const Event& event) const noexcept {
    return {{event.error()}, event.revents(), event.next_length()};
  }
};

struct ReadAccepted {
  Loop* loop;
  inline Accepted operator()(const Event& event) const noexcept;
};
struct ReadMessage {
  exs_phandle_t pool;
  PooledMessage operator()(const Event& event) const noexcept { return {event, pool}; }
};
struct PostAccept {
  int socket;
  int flags = 0;
  int operator()(exs_qhandle_t queue, void* handle) const noexcept {
    return exs_accept(socket, nullptr, flags, queue, handle);
  }
};

}  // namespace detail

using Connections = Arrivals<Accepted, detail::ReadAccepted>;
using Messages = Arrivals<PooledMessage, detail::ReadMessage>;

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

  // Pieces of memory, and ranges of files. The description must stay as it is until the result.
  auto sendmsg(exs_msghdr_t& message, int flags = 0) const {
    return detail::transfer(attached_.loop(), flags,
                            [=, &message, socket = number()](exs_qhandle_t queue, void* handle) {
                              return exs_sendmsg(socket, &message, flags, queue, handle);
                            });
  }
  auto recvmsg(exs_msghdr_t& message, int flags = 0) const {
    return detail::transfer(attached_.loop(), flags,
                            [=, &message, socket = number()](exs_qhandle_t queue, void* handle) {
                              return exs_recvmsg(socket, &message, flags, queue, handle);
                            });
  }
  auto sendfile(exs_xferfile_t& file, int flags = 0) const {
    return detail::transfer(attached_.loop(), flags,
                            [=, &file, socket = number()](exs_qhandle_t queue, void* handle) {
                              return exs_sendfile(socket, &file, flags, queue, handle);
                            });
  }

  // --- co_await gives a Polled ---
  // Until one of `events` (EXS_POLLIN, EXS_POLLOUT) holds, or the connection has failed or ended.
  auto poll(std::uint32_t events) const {
    const auto post = [events, socket = number()](exs_qhandle_t queue, void* handle) {
      const exs_pollfd_t entry = {socket, events, handle};
      return exs_poll(&entry, 1, 0, queue);
    };
    return Awaiting(attached_.loop(), post, detail::ReadPolled());
  }

  // --- Snapshots of the peer's persistent send; they do not block. The socket stays where it is meanwhile. ---
  // As exs_recv_window and exs_recv_snapshot, with their errors, but for EINTR; no timeout: no limit. co_await gives a Result.
  auto recv_window(std::span<std::byte> into, std::uint64_t offset, std::uint64_t window_offset,
                   std::optional<Clock::duration> timeout = std::nullopt,
                   exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED) const {
    return detail::take_window({attached_.loop(), number(), timeout}, into, region, offset, window_offset);
  }
  auto recv_snapshot(std::span<std::byte> into, std::uint64_t offset, std::uint64_t slots_offset,
                     exs_snapshot_t* snapshot = nullptr,
                     std::optional<Clock::duration> timeout = std::nullopt,
                     exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED) const {
    return detail::take_snapshot({attached_.loop(), number(), timeout}, into, region, offset, slots_offset,
                                 snapshot);
  }

  // --- Memory that stays open to the peer, whose next use coroutines await ---
  [[nodiscard]] SharedMemory share_for_reading(std::span<const std::byte> memory,
                                               exs_mhandle_t region) const {
    const auto post = [=, socket = number()](exs_qhandle_t queue, void* handle) {
      constexpr int kFlags = EXS_PERSISTENT | EXS_NOTIFY;
      return exs_send(socket, memory.data(), memory.size(), kFlags, queue, handle, region);
    };
    return {attached_.loop(), post};
  }
  [[nodiscard]] SharedMemory share_for_writing(std::span<std::byte> memory, exs_mhandle_t region) const {
    const auto post = [=, socket = number()](exs_qhandle_t queue, void* handle) {
      constexpr int kFlags = EXS_PERSISTENT | EXS_NOTIFY;
      return exs_recv(socket, memory.data(), memory.size(), kFlags, queue, handle, region);
    };
    return {attached_.loop(), post};
  }

  // --- co_await gives an Outcome ---
  auto connect(const Address& address) const {
    const auto post = [address, socket = number()](exs_qhandle_t queue, void* handle) {
      return exs_connect(socket, address.get(), address.length(), 0, queue, handle);
    };
    return Awaiting(attached_.loop(), post, detail::ReadOutcome());
  }
  // Completes when the peer has been told; with SHUT_WR, after the sends that were posted before.
  auto shutdown(int how) const {
    const auto post = [how, socket = number()](exs_qhandle_t queue, void* handle) {
      return exs_shutdown_async(socket, how, queue, handle);
    };
    return Awaiting(attached_.loop(), post, detail::ReadOutcome());
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
    return Awaiting(attached_.loop(), post, detail::ReadOutcome());
  }

  // --- co_await gives an Accepted ---
  // The new socket belongs to the loop of this socket, or to `loop`, which then runs the awaiting coroutine.
  auto accept() const { return accept(attached_.loop()); }
  auto accept(Loop& loop) const { return accept(&loop); }

  // --- Calls that stay; co_await of next() gives one after the other ---
  // Connections, as accept(). One that the system has prevented, for instance by lack of memory or descriptors, is an
  // Accepted with an error and without a socket; others follow.
  [[nodiscard]] Connections accept_all() const { return accept_all(attached_.loop()); }
  [[nodiscard]] Connections accept_all(Loop& loop) const { return accept_all(&loop); }
  // Messages, or pieces of a stream, in buffers of the pool, which must outlive them and this.
  [[nodiscard]] Messages recv_pooled(const ReceivePool& pool) const {
    const auto post = [handle_of_pool = pool.handle(), socket = number()](exs_qhandle_t queue, void* handle) {
      return exs_recv_pooled(socket, handle_of_pool, 0, queue, handle);
    };
    return {attached_.loop(), post, {pool.handle()}};
  }

  // Cancels all operations that have not started, with ECANCELED. Returns how many match.
  int cancel() const noexcept { return attached_.socket().cancel(); }

 private:
  [[nodiscard]] int number() const noexcept { return attached_.socket().number(); }
  [[nodiscard]] Awaiting<detail::PostAccept, detail::ReadAccepted> accept(Loop* loop) const {
    return {loop, {number()}, {loop}};
  }
  [[nodiscard]] inline Connections accept_all(Loop* loop) const;

  detail::Attached attached_;
};

// One connection. With an error there is none, and the socket is not open: what is awaited on it gives ECANCELED.
struct [[nodiscard]] Accepted : Outcome {
  AsyncSocket socket;

  [[nodiscard]] AsyncSocket& value() & {
    Outcome::value();
    return socket;
  }
  [[nodiscard]] const AsyncSocket& value() const& {
    Outcome::value();
    return socket;
  }
  [[nodiscard]] AsyncSocket value() && {
    Outcome::value();
    return std::move(socket);
  }
};

inline Accepted detail::ReadAccepted::operator()(const Event& event) const noexcept {
  if (event.new_socket() == -1) return {{event.error()}, {}};
  return {{event.error()}, AsyncSocket(*loop, Socket(event.new_socket()))};
}

inline Connections AsyncSocket::accept_all(Loop* loop) const {
  return {loop, detail::PostAccept{number(), EXS_MULTISHOT}, {loop}};
}

// As AsyncSocket::accept, for a listening socket that belongs to no loop.
inline Awaiting<detail::PostAccept, detail::ReadAccepted> accept(Loop& loop, const Socket& listening) {
  return {&loop, {listening.number()}, {&loop}};
}
inline Connections accept_all(Loop& loop, const Socket& listening) {
  return {&loop, detail::PostAccept{listening.number(), EXS_MULTISHOT}, {&loop}};
}

}  // namespace exs::cpp

#endif  // EXS_CPP_ASYNC_SOCKET_HPP
