// A server: its services, listening sockets and threads. Thread: one at a time, except for stop().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "rpc/fast/worker.h"

namespace exs::rpc {

class Server : private Acceptor {
 public:
  explicit Server(const ServerSettings& settings) : settings_(settings) {}
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Here and below: returns 0, or -1 with errno and error_text().
  int prepare(std::uint32_t threads);
  int add(const exs_rpc_service_t& service, void* user);
  int listen(const sockaddr* address, socklen_t length);
  int run();
  void stop();

 private:
  struct Listener {
    int socket;
    bool accepts;  // an accept is posted
  };

  bool take(const exs_event_t& event) override;
  bool accept_again() override;
  void accept(int socket);
  void start(std::vector<std::thread>& threads);
  [[nodiscard]] bool post_accept(int listener) const;

  const ServerSettings settings_;
  std::vector<Service> services_;
  WindowTokens tokens_;
  std::atomic<std::uint32_t> clients_{0};
  std::vector<std::unique_ptr<Worker>> workers_;  // the first one runs in run()'s caller, and accepts
  std::vector<Listener> listeners_;
  std::atomic<bool> runs_{false};
  std::atomic<bool> stops_{false};
};

}  // namespace exs::rpc

struct exs_rpc_server : exs::rpc::Server {
  using Server::Server;
};
