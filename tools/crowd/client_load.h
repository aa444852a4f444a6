// The connections of one client process: opens them, exchanges messages on all of them at once, closes them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exs/exs.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/common/memory.h"
#include "tools/crowd/settings.h"

namespace crowd {

class ClientLoad {
 public:
  ClientLoad(const Settings& settings, std::uint32_t connections);

  // Each returns when every connection has finished or failed.
  void connect(std::uint16_t port, std::uint32_t count);
  void exchange();
  void close();
  [[nodiscard]] const ErrorCount& errors() const { return errors_; }

 private:
  static constexpr std::uint32_t kBuffersEach = 2;  // one to send from, one to receive into

  struct Connection {
    exs::cpp::Socket socket;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };

  void start_connect(Connection& connection);
  void start_pair(Connection& connection);
  void on_transfer(Connection& connection, const exs_event_t& event);
  bool is_response_right(const Connection& connection, const exs_event_t& event) const;
  // Counts the error and closes the connection; later events of it are ignored.
  void drop(Connection& connection, const std::string& what, int error);
  [[nodiscard]] std::span<std::byte> buffer(const Connection& connection, bool incoming) const {
    return slots_.slot(static_cast<std::uint64_t>(&connection - connections_.data()) * kBuffersEach +
                       (incoming ? 1 : 0));
  }
  [[nodiscard]] std::uint64_t message_number(const Connection& connection) const {
    return static_cast<std::uint64_t>(connection.socket.number()) * settings_.pairs + connection.received;
  }
  std::span<const exs_event_t> wait();

  const Settings& settings_;
  exs::cpp::Queue queue_;
  tools::Slots slots_;
  std::vector<Connection> connections_;
  std::array<exs_event_t, kEventBatch> events_;
  exs::cpp::Address server_;
  std::uint32_t busy_ = 0;  // connections that have not finished the phase
  ErrorCount errors_;
};

}  // namespace crowd
