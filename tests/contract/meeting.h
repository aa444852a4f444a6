// Two ports of the provider under test, and how they come to have links. EXS_PROVIDER names the provider: "iwarp",
// "shm" or "verbs". Which way they take follows from the roles that the ports have.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "src/base/unique_fd.h"
#include "src/provider/connector.h"
#include "src/provider/provider.h"
#include "src/provider/upgrade.h"
#include "tests/support/driven_port.h"

namespace exs::contract {

using test::await;
using test::drive_until;
using test::DrivenPort;
using test::kHangLimitMs;
using test::require;

std::string_view provider_under_test();
// What the provider can be set to, beside what the environment says. A test of links runs once with each.
int variants();
// Lives as long as the process, as providers do. One for each variant.
Provider& provider_of(int variant);

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A link with its socket, which outlives it.
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

  // Both outlive it.
  Meeting(Provider& provider, DrivenPort& client, DrivenPort& server);

  // Both links stand. What the ends told each other is "hello" and "welcome".
  Connection join(const LinkDepths& depths, std::uint64_t client_token, std::uint64_t server_token);

  // --- Where there is a Connector: the steps of join(). ---
  // Once; join() does it, too.
  void listen();
  void stop_listening();
  SocketAndLink connect(const LinkDepths& depths, std::uint64_t token, std::string_view words = "hello");
  std::unique_ptr<ConnectionRequest> await_request();
  SocketAndLink accept(DrivenPort& at, std::unique_ptr<ConnectionRequest> request, const LinkDepths& depths,
                       std::uint64_t token);
  [[nodiscard]] PortListener& listener() { return *port_listener_; }
  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] const UniqueFd& listening() const { return listening_; }

  // --- Where there is a ConnectionUpgrade. ---
  // A TCP connection that nobody else uses.
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

}  // namespace exs::contract
