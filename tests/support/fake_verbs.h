// A verbs provider without a device, for tests of the engine: it has its own listener and set-up, pads
// private data, and fails on request. Its connections use TCP, through an iwarp provider of its own.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/provider/provider.h"

namespace exs::test {

// The process's only instance, in place of the real provider. Thread: any.
class FakeVerbs {
 public:
  enum class Connect {
    kWorks,        // succeeds if the peer listens; else the link ends with PEER_LACKS
    kUnreachable,  // may_reach() returns false
    kRefused,      // connect() fails with `status`
    kEnds,         // the link ends with `status`, `reason` and `private_data`, and reports its end twice
    kSilent,       // the link reports nothing
  };
  enum class Listen { kWorks, kNothing, kFails, kHoldsTcpPort };

  struct Behaviour {
    Connect connect = Connect::kWorks;
    Status status{ECONNREFUSED};
    Reason reason{};
    std::vector<std::byte> private_data{};
    Listen listen = Listen::kWorks;
    int listen_error = EADDRINUSE;
    bool port_opens = true;  // for shards that are created from now on
    bool accepts = true;
    int ports_taken = 0;  // ports, from the next one asked about, that are taken
  };

  // Call it before exs_init.
  static FakeVerbs& instance();
  void behave(const Behaviour& behaviour);
  [[nodiscard]] Behaviour behaviour() const;
  // Connects since the last behave() for which a link was created.
  [[nodiscard]] int attempts() const;

  // --- for the provider ---
  void note_attempt();
  bool take_port();
  void listens(std::uint16_t network_port, std::uint16_t own_port);
  void listens_no_more(std::uint16_t network_port);
  // 0: there is no own port.
  [[nodiscard]] std::uint16_t own_port(std::uint16_t network_port) const;

 private:
  FakeVerbs();
  Provider* const real_;  // stays alive, but is not used
  mutable std::mutex mutex_;
  Behaviour behaviour_;
  int attempts_ = 0;
  std::map<std::uint16_t, std::uint16_t> own_ports_;
};

// The addresses that links report: 192.0.2.1 and 192.0.2.2, with the ports of the TCP connection.
inline constexpr std::uint32_t kFakeOwnAddress = 0xc0000201;
inline constexpr std::uint32_t kFakePeerAddress = 0xc0000202;

}  // namespace exs::test
