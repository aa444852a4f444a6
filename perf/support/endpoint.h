// The objects of exs.hpp as the measurements use them. What fails throws Failure with what was tried. Posting and taking
// events call C: an error code would cost a message two calls into the C++ library.
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

// Most events that are taken at a time. The library gives no more than the queue is deep.
inline constexpr std::uint32_t kEventBatch = 64;

// An event queue with one of the wait modes.
class Queue {
 public:
  explicit Queue(int depth, Wait wait);
  void wait_like(Wait wait);
  // Waits for at least one event; signals do not disturb. 0: none within the time. timeout_ns 0 looks once.
  std::size_t take(std::span<exs_event_t> out, std::int64_t timeout_ns);
  // Waits for one event of this type without an error; signals do not disturb. Throws Failure beginning with
  // `what`.
  exs_event_t expect(int type, const std::string& what, std::int64_t timeout_ns);
  [[nodiscard]] exs_qhandle_t handle() const { return queue_.handle(); }

 private:
  exs::cpp::Queue queue_;
};

// What one end of a connection asks for.
struct ConnectionOptions {
  std::string provider;
  std::size_t small_max_bytes;  // 0: the library's default
  int credits;
};

// Both ends ask for a number and the smaller one applies, so a server asks for the most and its clients decide.
ConnectionOptions server_options(const std::string& provider);
ConnectionOptions client_options(const std::string& provider, const Job& job);

Socket listen_on(const std::string& address, std::uint16_t port, const ConnectionOptions& options);
Socket connect_to(const std::string& host, std::uint16_t port, const ConnectionOptions& options,
                  Queue& queue);
// On the address of a connection's end, on a free port; and from its other end to there.
Socket listen_beside(const Socket& connection, int socket_type, const ConnectionOptions& options);
Socket connect_beside(const Socket& connection, std::uint16_t port, int socket_type,
                      const ConnectionOptions& options, Queue& queue);
// "127.0.0.1:7471".
std::string local_name(const Socket& socket);
std::string peer_name(const Socket& socket);
std::uint16_t local_port(const Socket& socket);

std::string provider_of(const Socket& socket);

// `call` refuses an operation. Of a connection that is over it is often the first to tell, before the events
// of what was open are taken, and then it says what the socket knows of its end.
[[noreturn]] void fail_post(int socket, const char* call, int error);

// False: EAGAIN, take events and try again. Other errors throw.
bool try_send(const Socket& socket, std::span<const std::byte> message, int flags, const Queue& queue,
              exs_mhandle_t region);
bool try_recv(const Socket& socket, std::span<std::byte> buffer, const Queue& queue, exs_mhandle_t region);
// Where there must be room.
void send(const Socket& socket, std::span<const std::byte> message, int flags, const Queue& queue,
          exs_mhandle_t region);
void recv(const Socket& socket, std::span<std::byte> buffer, const Queue& queue, exs_mhandle_t region);

// The bytes that a receive's event tells of.
std::span<const std::byte> received(const exs_event_t& event);

}  // namespace perf
