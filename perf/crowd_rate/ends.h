// The two ends of many connections, over exs or over plain TCP with epoll. Each connection carries one message at a time, there and back.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perf/support/job.h"

namespace crowd_rate {

struct Settings {
  bool by_exs = true;              // otherwise plain TCP sockets and epoll
  std::string provider = "iwarp";  // of exs
  std::uint32_t connections = 10'000;
  std::vector<std::uint32_t> active{1, 10, 100, 1000};  // connections; one measurement each
  std::uint32_t threads = 1;  // of the server, each with an equal share of the connections
  std::uint32_t size_bytes = 64;
  perf::Wait wait = perf::Wait::notify;
  std::uint64_t time_ns = 0;  // of a measurement
  bool pin = true;
  bool json = false;
};

// A peer or a server that does nothing for this long has failed.
inline constexpr std::int64_t kSilenceMaxNs = 30'000'000'000;
inline constexpr int kBatch = 64;  // events taken at a time
inline constexpr int kBacklog = 1024;

class Client {
 public:
  virtual ~Client() = default;
  // Connection n goes to port n modulo their number.
  virtual void open(const std::vector<std::uint16_t>& ports) = 0;
  virtual void send(std::uint32_t connection) = 0;
  // Waits for responses. Returns the connections that have one, valid until the next call.
  virtual std::span<const std::uint32_t> wait() = 0;
  // The provider of exs, or what else carries the messages.
  [[nodiscard]] virtual std::string provider() const = 0;
};
std::unique_ptr<Client> make_exs_client(const Settings& settings);
std::unique_ptr<Client> make_epoll_client(const Settings& settings);

// One thread of a server, which serves on a port of its own until the process ends.
class Server {
 public:
  virtual ~Server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[noreturn]] virtual void serve() = 0;
};
std::unique_ptr<Server> make_exs_server(const Settings& settings);
std::unique_ptr<Server> make_epoll_server(const Settings& settings);

// Writes the connection's number at the start of a message, so that a response of another connection is detected.
void number_message(std::span<std::byte> message, std::uint32_t connection);
void check_message(std::span<const std::byte> message, std::uint32_t connection, std::size_t size_bytes);

}  // namespace crowd_rate
