// A peer over plain TCP that sends what a test wants: nothing, garbage, a forged hello, or exs messages that
// no honest end would send. Every wait is bounded; a hang aborts the test.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "src/provider/iwarp/fpdu.h"
#include "src/wire/messages.h"

namespace exs::test {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text);
// The hello of an honest end of this version.
wire::HelloFields honest_hello();

// Thread: the owner's.
class RawPeer {
 public:
  explicit RawPeer(const sockaddr_in& address);  // connects
  explicit RawPeer(UniqueFd connection) : connection_(std::move(connection)) {}

  // --- any bytes ---
  // False: the other end has closed.
  bool send(std::span<const std::byte> bytes);
  // Returns up to `count` bytes, fewer at the end of the stream.
  Bytes receive(std::size_t count);
  // Takes and drops everything until the other end has closed or reset the connection.
  void await_end();
  void reset();  // RST
  void end_sending();

  // --- MPA ---
  void request(const wire::HelloFields& hello);
  void request_with(std::span<const std::byte> private_data);
  // Reads a request or a reply. False: the end of the stream, or a rejection.
  bool take_handshake();
  void reply(const wire::HelloFields& hello);
  void reject(std::span<const std::byte> private_data);
  // Initiator: request, reply, READY. The connection is up.
  void connect_as_exs(const wire::HelloFields& hello = honest_hello());

  // --- exs messages, each in one SEND ---
  void message(const wire::Message& message, std::span<const std::byte> payload = {});
  void message(wire::MessageType type, std::uint8_t flags = 0, std::uint16_t credits = 0,
               std::uint32_t sequence = 0);
  void message_bytes(std::span<const std::byte> bytes);
  // Returns the next message and drops RDMA frames before it. nullopt: the end of the stream.
  std::optional<wire::Message> next_message();
  // Returns the next message of this type and drops others.
  std::optional<wire::Message> next_message(wire::MessageType type);

  // --- RDMA ---
  void read_request(const iwarp::ReadRequest& request);
  // `header` as src/provider/iwarp/fpdu.h stores it; pad and an empty CRC are added.
  void frame(std::span<const std::byte> header, std::span<const std::byte> payload);

 private:
  struct Frame {
    Bytes bytes;
    iwarp::Controls controls;
  };
  std::optional<Frame> next_frame();

  UniqueFd connection_;
  std::uint32_t next_send_ = 1;
  std::uint32_t next_read_ = 1;
};

// Listens on its own port. The kernel completes TCP connections, and nothing answers them.
class RawListener {
 public:
  explicit RawListener(int backlog = 64);
  [[nodiscard]] sockaddr_in address() const;
  [[nodiscard]] RawPeer accept() const;

 private:
  UniqueFd listening_;
};

}  // namespace exs::test
