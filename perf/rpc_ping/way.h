// A way for calls: the client's end and the server's end of one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace rpc_ping {

// The server process's calls and processor time since the last question.
struct ServerUse {
  std::uint64_t calls = 0;
  std::uint64_t cpu_ns = 0;
};

inline constexpr std::uint32_t kUnderWayMax = 64;

class Caller {
 public:
  virtual ~Caller() = default;
  // Makes one call with these bytes as its argument, and returns as many bytes of the result. A way that copies results puts them into
  // the same place. Throws Failure.
  virtual std::span<const char> call(std::span<char> bytes) = 0;
  // The same in two steps, so that several calls may be under way; they end in the order in which they began.
  virtual void begin(std::span<char> bytes);
  virtual void end(std::span<char> bytes);
  virtual ServerUse use_of_server() = 0;
  // Returns the current carrier of calls: "shm", "iwarp", "verbs", "mapped", "tcp", "unix".
  virtual std::string carrier() = 0;
};

// Reports the server's place: a port, or a name.
using Told = std::function<void(const std::string& place)>;

struct Way {
  const char* name;
  const char* summary;
  const char* exs_sunrpc;  // EXS_SUNRPC_VARIANT of its processes; NULL: EXS_SUNRPC is off
  std::function<std::unique_ptr<Caller>(const std::string& host, const std::string& place)> connect;
  // Serves for ever. Place "0": any.
  std::function<void(const std::string& address, const std::string& place, const Told& told)> serve;
};

}  // namespace rpc_ping
