// A verbs provider without a device, to be met by the engine: it has a listening and a set-up of its own,
// pads private data, and fails as it is told. What it carries goes over TCP, by an iwarp provider of its own.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/provider/provider.h"

namespace exs::test {

// One for the process, in the place of the real one. Thread: any.
class FakeVerbs {
 public:
  enum class Connect {
    kWorks,        // where the peer listens; else the link ends with PEER_LACKS
    kUnreachable,  // may_reach() says no
    kRefused,      // connect() fails with `status`
    kEnds,         // the link ends with `status`, for `reason`, and with `private_data`; and says so twice
    kSilent,       // nothing is heard
  };
  enum class Listen { kWorks, kNothing, kFails, kHoldsTcpPort };

  struct Behaviour {
    Connect connect = Connect::kWorks;
    Status status{ECONNREFUSED};
    Reason reason{};
    std::vector<std::byte> private_data{};
    Listen listen = Listen::kWorks;
    int listen_error = EADDRINUSE;
    bool port_opens = true;  // of shards that are made from now on
    bool accepts = true;
  };

  // Before the library begins.
  static FakeVerbs& instance();
  void behave(const Behaviour& behaviour);
  [[nodiscard]] Behaviour behaviour() const;
  // Connects that got as far as a link, since the last behave().
  [[nodiscard]] int attempts() const;

  // --- for the provider ---
  void note_attempt();
  void listens(std::uint16_t network_port, std::uint16_t own_port);
  void listens_no_more(std::uint16_t network_port);
  // 0: nobody.
  [[nodiscard]] std::uint16_t own_port(std::uint16_t network_port) const;

 private:
  FakeVerbs();
  Provider* const real_;  // lives on, unused
  mutable std::mutex mutex_;
  Behaviour behaviour_;
  int attempts_ = 0;
  std::map<std::uint16_t, std::uint16_t> own_ports_;
};

// What links say of their ends: 192.0.2.1 and 192.0.2.2, with the port of the TCP connection below.
inline constexpr std::uint32_t kFakeOwnAddress = 0xc0000201;
inline constexpr std::uint32_t kFakePeerAddress = 0xc0000202;

}  // namespace exs::test
