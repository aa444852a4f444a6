// The controller's commands and the actor's answers: one struct each way, over a Unix socketpair.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

namespace twin {

enum class Op : std::uint32_t {
  // I/O calls; `variant` selects one of the family.
  send,
  recv,
  fill,   // sends until the connection is full
  drain,  // receives until `length` bytes have arrived
  sendfile,
  splice_in,   // from a pipe into the connection
  splice_out,  // from the connection into a pipe
  stdio_write,
  stdio_read,
  // Readiness.
  poll,
  epoll_create,
  epoll_ctl,
  epoll_wait,
  settle,  // waits, past any preloaded library, until a FIN or RST has arrived
  flush,   // waits likewise until all sent bytes are in transit
  // Begin and end of connections.
  listen,
  connect,
  accept,
  close,
  shutdown,
  dup,
  // State.
  nonblock,
  flags,
  inquire,  // ioctl
  set_option,
  get_option,
  names,
  own,  // F_SETOWN
  // Processes.
  fork,
  spawn,
  exec,
  leave,
  reap,
  pass,
  take,
  // Threads and signals.
  start,
  pending,
  interrupt,
  join,
  signals,  // SIGURGs so far
};

enum class SendCall : std::uint32_t { write, writev, send, sendto, sendmsg, sendmmsg, pwritev2, count };
enum class RecvCall : std::uint32_t { read, readv, recv, recvfrom, recvmsg, recvmmsg, preadv2, count };
enum class PollCall : std::uint32_t { poll, ppoll, select, pselect, count };
enum class DupCall : std::uint32_t { dup, dup2, dup3, dupfd, dupfd_cloexec, count };
enum class CloseCall : std::uint32_t { close, close_range, count };
enum class NonblockCall : std::uint32_t { fcntl, ioctl, count };
enum class LeaveCall : std::uint32_t { _exit, exit, count };

// No value of `errno`: the actor did not answer, or the thread did not end.
inline constexpr std::int32_t kHung = 9999;

struct Watched {
  std::int32_t fd;
  std::uint32_t events;
};

inline constexpr std::size_t kWatchedMax = 6;

// The bytes to send, or to expect, begin with byte `position` of `stream`.
struct Command {
  Op op;
  std::uint32_t variant = 0;
  std::int32_t fd = -1;
  std::int32_t fd2 = -1;
  std::int32_t flags = 0;
  std::uint32_t parts = 1;  // of a vector, or number of messages
  std::int64_t length = 0;
  std::uint64_t stream = 0;
  std::uint64_t position = 0;
  std::uint64_t hash = 0;  // of the earlier bytes, if a call is continued
  std::int32_t level = 0;
  std::int32_t name = 0;
  std::int32_t value = 0;
  std::int32_t timeout_ms = 0;
  std::uint32_t bad_pointer = 0;
  std::uint32_t watched_count = 0;
  std::array<Watched, kWatchedMax> watched = {};
  Op inner = Op::recv;        // for start: the thread's call
  std::uint32_t restart = 1;  // for start: a signal restarts the call
};

struct Answer {
  std::int64_t result = -1;
  std::int32_t error = 0;         // 0 unless the result is -1
  std::int64_t bytes = 0;         // moved
  std::uint64_t hash = 0;         // of the bytes received
  std::int64_t first_wrong = -1;  // offset of a byte that is not the stream's
  std::int32_t message_flags = 0;
  std::int32_t address_length = 0;
  std::array<std::int32_t, kWatchedMax> values = {};  // revents, an option's value, ...
  std::int32_t port = 0;                              // differs between the worlds
  std::int32_t peer_port = 0;
  std::int32_t pid = 0;
  std::uint32_t pipe_signals = 0;  // SIGPIPEs of this call
};

// The actor's own descriptors, above those of the calls under test.
inline constexpr int kControl = 600;
inline constexpr int kChildControl = 601;
inline constexpr int kPassing = 610;
inline constexpr int kTaking = 611;
// The destination of dup2 and dup3.
inline constexpr int kDupBase = 40;

}  // namespace twin
