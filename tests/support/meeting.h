// How two ports of a provider get links. Their roles determine the way.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/provider.h"
#include "src/provider/upgrade.h"
#include "tests/support/driven_port.h"

namespace exs::test {

// A link with its socket, which must outlive the link.
struct SocketAndLink {
  UniqueFd socket;
  std::unique_ptr<Link> link;
  Link* operator->() const { return link.get(); }
};
struct Connection {
  SocketAndLink client;
  SocketAndLink server;
};

// Thread: the owner's.
class Meeting {
 public:
  static constexpr std::uint64_t kListenerToken = 900;
  static constexpr std::uint64_t kUpgradeToken = 901;
  static constexpr std::uint64_t kHandshakeLimitNs = 5'000'000'000;

  // Both ports must outlive it.
  Meeting(Provider& provider, DrivenPort& client, DrivenPort& server);

  // Returns two established links. The ends have sent each other "hello" and "welcome".
  Connection join(const LinkDepths& depths, std::uint64_t client_token, std::uint64_t server_token);

  // --- With a Connector: the steps of join(). ---
  // Call it once; join() calls it, too.
  void listen();
  void stop_listening();
  SocketAndLink connect(const LinkDepths& depths, std::uint64_t token, std::string_view words = "hello");
  std::unique_ptr<ConnectionRequest> await_request();
  SocketAndLink accept(DrivenPort& at, std::unique_ptr<ConnectionRequest> request, const LinkDepths& depths,
                       std::uint64_t token, std::string_view words = "welcome");
  [[nodiscard]] PortListener& listener() { return *port_listener_; }
  // The address of a device, where there must be one: EXS_TEST_ADDRESS.
  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] const UniqueFd& listening() const { return listening_; }

  // --- With a ConnectionUpgrade. ---
  // Makes a TCP connection for this use alone.
  void connect_plainly(UniqueFd& client, UniqueFd& server);

 private:
  Connection join_by_network(const LinkDepths& depths, std::uint64_t client_token,
                             std::uint64_t server_token);
  Connection join_by_upgrade(const LinkDepths& depths, std::uint64_t client_token,
                             std::uint64_t server_token);

  Provider& provider_;
  DrivenPort& client_;
  DrivenPort& server_;
  UniqueFd listening_;
  sockaddr_in address_{};
  std::unique_ptr<ProcessListener> process_listener_;
  std::unique_ptr<PortListener> port_listener_;
};

}  // namespace exs::test
