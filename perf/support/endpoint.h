// The objects of exs.hpp for the measurements. On failure they throw Failure with the step that failed. Posting and taking events use C:
// error codes would cost a message two calls into the C++ library.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <exs/exs.hpp>
#include <span>
#include <string>

#include "perf/support/job.h"
#include "tools/common/memory.h"

namespace perf {

using Library = exs::cpp::Library;
using Socket = exs::cpp::Socket;
using tools::Memory;
using tools::Slots;

// The limit of events taken at a time. The library gives no more than the queue is deep.
inline constexpr std::uint32_t kEventBatch = 64;

// An event queue with one of the wait modes.
class Queue {
 public:
  explicit Queue(int depth, Wait wait);
  void wait_like(Wait wait);
  // Waits for at least one event; signals do not end the wait. Returns 0 at the time limit. timeout_ns 0 looks once.
  std::size_t take(std::span<exs_event_t> out, std::int64_t timeout_ns);
  // Waits for one event of this type without an error; signals do not end the wait. Throws Failure beginning with `what`.
  exs_event_t expect(int type, const std::string& what, std::int64_t timeout_ns);
  [[nodiscard]] exs_qhandle_t handle() const { return queue_.handle(); }

 private:
  exs::cpp::Queue queue_;
};

// The settings that one end of a connection asks for.
struct ConnectionOptions {
  std::string provider;
  std::size_t small_max_bytes;  // 0: the library's default
  int credits;                  // likewise
};

// Both ends ask for a number and the smaller one applies, so a server asks for the most and its clients decide.
ConnectionOptions server_options(const std::string& provider);
ConnectionOptions client_options(const std::string& provider, const Job& job, std::uint32_t credits = 0);

Socket listen_on(const std::string& address, std::uint16_t port, const ConnectionOptions& options);
Socket connect_to(const std::string& host, std::uint16_t port, const ConnectionOptions& options,
                  Queue& queue);
// Listens at the address of a connection's end, on a free port; the other end connects there.
Socket listen_beside(const Socket& connection, int socket_type, const ConnectionOptions& options);
Socket connect_beside(const Socket& connection, std::uint16_t port, int socket_type,
                      const ConnectionOptions& options, Queue& queue);
// "127.0.0.1:7471".
std::string local_name(const Socket& socket);
std::string peer_name(const Socket& socket);
std::uint16_t local_port(const Socket& socket);

std::string provider_of(const Socket& socket);

// Throws because `call` refused an operation. After a connection has ended, this is often the first sign, before the events of pending
// operations. Then the text has the socket's own explanation of the end.
[[noreturn]] void fail_post(int socket, const char* call, int error);

// Returns false on EAGAIN: take events and try again. Other errors throw.
bool try_send(const Socket& socket, std::span<const std::byte> message, int flags, const Queue& queue,
              exs_mhandle_t region);
bool try_recv(const Socket& socket, std::span<std::byte> buffer, const Queue& queue, exs_mhandle_t region);
// For operations that must have room.
void send(const Socket& socket, std::span<const std::byte> message, int flags, const Queue& queue,
          exs_mhandle_t region);
void recv(const Socket& socket, std::span<std::byte> buffer, const Queue& queue, exs_mhandle_t region);

// Returns the bytes of a receive's event.
std::span<const std::byte> received(const exs_event_t& event);

}  // namespace perf
