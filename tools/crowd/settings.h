// Declarations that the server and the client processes of exs-crowd share: settings, phases, waiting, and counting errors.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <exs/exs.hpp>
#include <span>
#include <string>

namespace crowd {

struct Settings {
  std::uint32_t connections = 10'000;
  std::uint32_t pairs = 10;  // requests with a response, of one connection
  std::uint32_t size_bytes = 64;
  std::uint32_t rounds = 2;
  std::uint32_t processes = 2;  // client processes
  std::uint32_t pool = 0;  // receive buffers of the server that all connections share; 0: each has its own
  std::string provider = "auto";
  std::string address = "127.0.0.1";  // of this machine, for both ends; IPv4
  bool flip = false;                  // each process damages a byte of one request, which must be detected
  bool json = false;
};

// All processes go through the phases together. A phase ends when every connection has finished or failed it.
enum class Phase : std::uint8_t { connect, exchange, close };

// The totals at the end of a phase.
struct Goal {
  Phase phase;
  std::uint32_t connections;  // of the round
  std::uint64_t echoed;       // messages sent back in the round
};

// A process gives up when nothing has happened for this long.
inline constexpr std::int64_t kSilenceMaxNs = 30'000'000'000;

// The limit of events taken at a time.
inline constexpr std::uint32_t kEventBatch = 64;
// Waits for at least one event; signals do not end the wait. Empty: the time is over.
std::span<const exs_event_t> wait_for_events(const exs::cpp::Queue& queue, std::span<exs_event_t> room,
                                             std::int64_t timeout_ns);

// The number of failed operations, and the reason of the first.
struct ErrorCount {
  std::uint64_t count = 0;
  std::string first;

  void note(const std::string& what, int error);
  void add(const ErrorCount& others);
};

}  // namespace crowd
