// The connections of a measurement, for either end: the control connection and its memory, the data connections of some kinds, and one
// queue for all.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/support/endpoint.h"
#include "perf/support/job.h"

namespace perf {

// How long one end waits for any action of the other.
inline constexpr std::int64_t kClientPatienceNs = 10'000'000'000;
inline constexpr std::int64_t kServerPatienceNs = 30'000'000'000;

class Channel {
 public:
  // The queue outlives the channel.
  Channel(Socket socket, Queue& queue)
      : queue_(queue), control_(2 * kHalfBytes, MemoryKind::plain), socket_(std::move(socket)) {}

  // Sends a control message and waits until the memory is free again.
  void send_control(std::span<const std::byte> message);
  // The result is valid until the next call. Throws Failure, also at the end of the peer's sending.
  std::span<const std::byte> receive_control(const std::string& what);
  // Posts a control message; the caller takes its event.
  void post_control(std::span<const std::byte> message);
  // Posts the receive of a control message, or of the end of the peer's sending; the caller takes its event.
  void post_control_receive();
  // Makes the buffers of this connection, once.
  // The memory outlives the connections, because they still use it.
  Slots& add_slots(std::size_t size_bytes, std::size_t count, MemoryKind kind) {
    return more_slots_.emplace_back(size_bytes, count, kind);
  }
  Slots& make_slots(std::size_t size_bytes, std::size_t count, MemoryKind kind);
  [[nodiscard]] Slots& slots() { return *slots_; }
  // The data connections: the server picks a port and answers with it, and the client connects to it, one after the other.
  void accept_data(std::uint32_t count, int socket_type, const ConnectionOptions& options);
  void connect_data(std::uint16_t port, std::uint32_t count, int socket_type,
                    const ConnectionOptions& options);
  [[nodiscard]] std::span<const Socket> data() const { return data_; }
  void close_data() { data_.clear(); }
  // Makes room for `count` operations in each direction of each connection.
  void allow_operations(std::uint32_t count);

  [[nodiscard]] const Socket& socket() const { return socket_; }
  [[nodiscard]] Queue& queue() const { return queue_; }

 private:
  static constexpr std::size_t kHalfBytes = 256;

  Queue& queue_;
  Memory control_;
  std::optional<Slots> slots_;
  std::list<Slots> more_slots_;
  // The sockets come last: they are closed before the memory is freed.
  Socket socket_;
  std::vector<Socket> data_;
};

}  // namespace perf
