// Fixtures for tests of the C API: the initialized library, a queue, registered memory, and two connected
// sockets. Waits have a limit that only a hang reaches.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "exs/exs.h"

namespace exs::test {

inline constexpr int kHangLimitSeconds = 300;

// Marks the few cases that sanitizers break. Their allocators do not survive a fork of a process with busy
// threads, and some of their checks need a descriptor when none is free.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

// Loads errno names into test output.
std::string errno_name(int error);
// The outcome of a call that returned `result`: "ok", or the name of the errno.
std::string outcome(int result);
// Sets an int option of level SOL_EXS.
inline int set_option(int socket, int option, int value) {
  return exs_setsockopt(socket, SOL_EXS, option, &value, sizeof value);
}
// Sets EXS_SO_PROVIDER.
void choose_provider(int socket, const std::string& choice);
std::string provider_of(int socket);
// The counters of a socket; -1: of the process.
exs_stats_t stats_of(int socket);
// Reads an int attribute EXS_QATTR_*.
int attribute(exs_qhandle_t queue, int name);
// The number of kernel descriptors of this process.
std::size_t open_descriptors();
// Returns when the kernel lists no engine thread; it lists a thread for a moment after it was joined.
void await_no_engines();
// Returns when an engine thread exists and all of them sleep, so that they have opened their descriptors.
void await_engines();

struct InitializedLibrary {
  InitializedLibrary();
  ~InitializedLibrary();
};

// A queue; the destructor deletes it.
class Queue {
 public:
  explicit Queue(int depth = 256, int wait_mode = EXS_WAIT_ADAPTIVE);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  [[nodiscard]] exs_qhandle_t handle() const { return handle_; }
  // Waits for exactly one event; fails the test when none comes.
  exs_event_t next();
  // The next event of `type` on `socket`; others are kept for later calls.
  exs_event_t next_of(int socket, int type);
  // The next event's errno, by name.
  std::string next_outcome(int socket, int type) { return errno_name(next_of(socket, type).exs_evt_errno); }
  [[nodiscard]] bool empty();

 private:
  exs_qhandle_t handle_;
  std::vector<exs_event_t> kept_;
};

class Memory {
 public:
  explicit Memory(std::size_t size_bytes, int flags = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::byte* at(std::size_t offset_bytes = 0) { return bytes_.data() + offset_bytes; }
  [[nodiscard]] std::size_t size_bytes() const { return bytes_.size(); }
  [[nodiscard]] exs_mhandle_t handle() const { return handle_; }
  // Bytes that depend on `seed` and the offset.
  void fill(std::uint32_t seed);

 private:
  std::vector<std::byte> bytes_;
  exs_mhandle_t handle_;
};

// A thread that sleeps in exs_qwait, exs_qdequeue, exs_close or exs_fini.
class WaitingThread {
 public:
  explicit WaitingThread(std::function<void()> body);
  ~WaitingThread() { join(); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  // Returns when the kernel reports that the thread sleeps in ppoll.
  void await_sleep() const;
  // Returns when the kernel reports that the thread waits for a lock.
  void await_lock() const;
  void interrupt(int signal) { ::pthread_kill(thread_.native_handle(), signal); }
  void join();

 private:
  std::atomic<int> id_{0};
  std::thread thread_;
};

// The address that tests use: 127.0.0.1, or EXS_TEST_ADDRESS, the address of a device.
sockaddr_in loopback(std::uint16_t port = 0);
sockaddr* generic(sockaddr_in& address);

// A port of loopback() that no other program gets, between two sockets that have it.
class HeldPort {
 public:
  HeldPort();
  ~HeldPort() { ::close(holder_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  [[nodiscard]] sockaddr_in address() const { return address_; }
  [[nodiscard]] std::uint16_t number() const { return ntohs(address_.sin_port); }

 private:
  const int holder_;
  sockaddr_in address_ = loopback();
};

// A socket bound to port 0 of loopback() and listening.
class ListeningSocket {
 public:
  ListeningSocket();
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] sockaddr_in address() const;

 private:
  int number_;
};

// Two connected sockets: left called exs_connect, right was accepted. `prepare` may set options of a socket
// first. The environment variable EXS_TEST_LEFT_PROVIDER replaces EXS_PROVIDER for left.
struct Pair {
  explicit Pair(Queue& queue, void (*prepare)(int socket) = nullptr);
  Pair(Queue& queue, int type);
  Pair(Queue& left_queue, Queue& right_queue, void (*prepare)(int socket) = nullptr,
       int type = SOCK_SEQPACKET);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  int left = -1;
  int right = -1;
};

}  // namespace exs::test
