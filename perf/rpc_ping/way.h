// A way for calls to go: the client's end and the server's end of one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace rpc_ping {

// What the server's process has used since the last time that it was asked.
struct ServerUse {
  std::uint64_t calls = 0;
  std::uint64_t cpu_ns = 0;
};

inline constexpr std::uint32_t kUnderWayMax = 64;

class Caller {
 public:
  virtual ~Caller() = default;
  // One call with these bytes as its argument. The server gives as many back: where they are, into the same place if they are copied
  // at all. Throws Failure.
  virtual std::span<const char> call(std::span<char> bytes) = 0;
  // The same in two steps, where several calls may be under way; they end in the order in which they began.
  virtual void begin(std::span<char> bytes);
  virtual void end(std::span<char> bytes);
  virtual ServerUse use_of_server() = 0;
  // By what the calls go now: "shm", "iwarp", "verbs", "mapped", "tcp", "unix".
  virtual std::string carrier() = 0;
};

// The server has a place now: a port, or a name.
using Told = std::function<void(const std::string& place)>;

struct Way {
  const char* name;
  const char* summary;
  const char*
      exs_sunrpc;  // of the process that it runs in, since its start: EXS_SUNRPC_VARIANT; null: it is off
  std::function<std::unique_ptr<Caller>(const std::string& host, const std::string& place)> connect;
  // Serves for ever. Place "0": any.
  std::function<void(const std::string& address, const std::string& place, const Told& told)> serve;
};

}  // namespace rpc_ping
