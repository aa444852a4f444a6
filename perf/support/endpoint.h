// The library's objects as C++ owners. Each constructor throws Failure with what was tried and why it failed.
#pragma once

#include <exs/exs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "perf/support/job.h"

namespace perf {

// exs_init to exs_fini.
class Library {
 public:
  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

// Most events that are taken at a time. The library gives no more than the queue is deep.
inline constexpr std::uint32_t kEventBatch = 64;

class Queue {
 public:
  explicit Queue(int depth, Wait wait);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void wait_like(Wait wait);
  // Waits for at least one event. 0: none within the time, or a signal came. timeout_ns 0 looks once.
  std::size_t take(std::span<exs_event_t> out, std::int64_t timeout_ns);
  // The last take() that returned 0 ended by a signal, before its time was up.
  [[nodiscard]] bool was_interrupted() const { return was_interrupted_; }
  // Waits for one event of this type without an error; signals do not disturb. Throws Failure beginning with
  // `what`.
  exs_event_t expect(int type, const std::string& what, std::int64_t timeout_ns);
  [[nodiscard]] exs_qhandle_t handle() const { return handle_; }

 private:
  exs_qhandle_t handle_;
  bool was_interrupted_ = false;
};

// Registered memory.
class Memory {
 public:
  Memory(std::size_t length, MemoryKind kind);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }

 private:
  const MemoryKind kind_;
  std::span<std::byte> bytes_;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
};

// `count` buffers of one size, used in turn: message n lies in slot n modulo count.
class Slots {
 public:
  Slots(std::size_t size_bytes, std::size_t count, MemoryKind kind);
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t message) const;
  // All slots, and where in them the slot of a message begins: equal at both ends.
  [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t message) const { return message % count_ * stride_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] exs_mhandle_t region() const { return memory_.region(); }
  // Every page is there and none is the shared page of zeros.
  void touch();

 private:
  const std::size_t size_bytes_;
  const std::size_t stride_;
  const std::size_t count_;
  Memory memory_;
};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;

  // Returns when the library has let go of all memory that operations named.
  void close();
  // Gives up the descriptor, which somebody has closed.
  void release() { descriptor_ = -1; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Wishes of either end for its connections.
struct Wishes {
  std::string provider;
  std::size_t small_max_bytes;  // 0: the library's default
  int credits;
};

// A server leaves the choice to its clients: of two wishes the smaller one holds.
Wishes wishes_of_server(const std::string& provider);
Wishes wishes_of_client(const std::string& provider, const Job& job);

Socket listen_on(const std::string& address, std::uint16_t port, const Wishes& wishes);
Socket connect_to(const std::string& host, std::uint16_t port, const Wishes& wishes, Queue& queue);
// On the address of a connection's end, on a free port; and from its other end to there.
Socket listen_beside(const Socket& connection, int socket_type, const Wishes& wishes);
Socket connect_beside(const Socket& connection, std::uint16_t port, int socket_type, const Wishes& wishes,
                      Queue& queue);
// "127.0.0.1:7471".
std::string local_name(const Socket& socket);
std::string peer_name(const Socket& socket);
std::uint16_t local_port(const Socket& socket);

std::string provider_of(int descriptor);

// `call` refuses an operation. Of a connection that is over it is often the first to tell, before the events
// of what was open are taken; how it came to its end they alone know.
[[noreturn]] void fail_post(const char* call, int error);

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
