// A server: its services, listening sockets and threads. Thread: one at a time, except for stop().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"
#include "rpc/fast/worker.h"

namespace exs::rpc {

class Server : private ClientAcceptor {
 public:
  explicit Server(const ServerSettings& settings) : settings_(settings) {}
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status make_workers(std::uint32_t threads);
  Status add_service(const exs_rpc_service_t& service, void* user);
  // Returns the port.
  Result<int> listen(const sockaddr& address, socklen_t length);
  Status run();
  void stop();

 private:
  struct ServerListener {
    int socket;
    bool accepts;  // an accept is posted
  };

  bool take_accept(const exs_event_t& event) override;
  bool accept_again() override;
  void accept_client(int socket);
  Status serve();
  void start_threads(std::vector<std::thread>& threads);
  Status post_accept(int listener) const;

  const ServerSettings settings_;
  std::vector<ServedInterface> services_;
  WindowTokens tokens_;
  std::atomic<std::uint32_t> clients_{0};
  std::vector<std::unique_ptr<ServerWorker>> workers_;  // the first one runs in run()'s caller, and accepts
  std::vector<ServerListener> listeners_;
  std::atomic<bool> runs_{false};
  std::atomic<bool> stops_{false};
};

}  // namespace exs::rpc

struct exs_rpc_server : exs::rpc::Server {
  using Server::Server;
};
