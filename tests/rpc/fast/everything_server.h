// A server of everything.x, in a thread of this process.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "everything_exs.h"

namespace exs::test {

struct EverythingState {
  std::atomic<int> notes{0};
  std::mutex mutex;
  std::vector<exs_rpc_request_t*> held;
  std::atomic<int> cancelled{0};  // of those held, when they were released
};

// The address that tests use, as a word: 127.0.0.1, or that of a device.
inline const char* host() {
  const char* const chosen = std::getenv("EXS_TEST_ADDRESS");
  return chosen == nullptr ? "127.0.0.1" : chosen;
}
// What all clients of a run of the tests want.
inline std::uint32_t client_flags() {
  return std::getenv("EXS_TEST_RPC_MAPPED") == nullptr ? 0 : EXS_RPC_MAPPED;
}
// Of any port.
inline sockaddr_in address_of_host(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host(), &address.sin_addr);
  return address;
}

class EverythingServer {
 public:
  explicit EverythingServer(const exs_rpc_server_options_t* options = nullptr, std::uint16_t port = 0);
  ~EverythingServer();
  EverythingServer(const EverythingServer&) = delete;
  EverythingServer& operator=(const EverythingServer&) = delete;

  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  [[nodiscard]] std::uint16_t number() const { return static_cast<std::uint16_t>(port_); }
  // The one that serves now.
  static EverythingState& state();
  // Until so many requests are held.
  static void wait_for_held(std::size_t count);

 private:
  EverythingState state_;
  exs_rpc_server_t* server_ = nullptr;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace exs::test
