// A server: its services, listening sockets and threads. Thread: one at a time, except for stop().
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "rpc/fast/worker.h"

namespace exs::rpc {

class Server {
 public:
  explicit Server(const ServerSettings& settings) : settings_(settings) {}
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Here and below: returns 0, or -1 with errno and error_text().
  int prepare(std::uint32_t threads);
  int add(const exs_rpc_service_t& service, void* user);
  int listen(const sockaddr* address, socklen_t length);
  int run();
  void stop();

 private:
  static void accept(void* server, int socket);

  const ServerSettings settings_;
  std::vector<Service> services_;
  WindowTokens tokens_;
  std::atomic<std::uint32_t> clients_{0};
  std::vector<std::unique_ptr<Worker>> workers_;  // the first one runs in run()'s caller, and accepts
  std::vector<int> listeners_;
  std::atomic<bool> runs_{false};
  std::atomic<bool> stops_{false};
};

}  // namespace exs::rpc

struct exs_rpc_server : exs::rpc::Server {
  using Server::Server;
};
