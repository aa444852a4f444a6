// SPDX-License-Identifier: BSD-2-Clause
#include "perf/crowd_rate/load.h"

#include <algorithm>
#include <cstring>

#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace crowd_rate {
namespace {

// The warm-up takes this part of a measurement's time, before it.
constexpr std::uint64_t kWarmupPart = 4;

class Rounds {
 public:
  Rounds(Client& client, const Settings& settings, std::uint32_t active)
      : client_(client), sent_ns_(settings.connections), counts_(settings.connections) {
    load_.active = active;
    for (std::uint32_t n = 0; n < active; ++n)
      active_.push_back(static_cast<std::uint32_t>(std::uint64_t{n} * settings.connections / active));
  }

  Load run(std::uint64_t time_ns) {
    for (const std::uint32_t connection : active_) send(connection);
    go_on(exs::monotonic_ns() + time_ns / kWarmupPart);
    forget();
    const std::uint64_t start_ns = exs::monotonic_ns();
    load_.seconds = tools::seconds_of(go_on(start_ns + time_ns) - start_ns);
    Load measured = result();
    for (std::size_t open = active_.size(); open > 0;) open -= client_.wait().size();
    return measured;
  }

 private:
  void send(std::uint32_t connection) {
    sent_ns_[connection] = exs::monotonic_ns();
    client_.send(connection);
  }

  // Returns when the last responses arrived.
  std::uint64_t go_on(std::uint64_t end_ns) {
    for (;;) {
      const std::span<const std::uint32_t> responses = client_.wait();
      const std::uint64_t at_ns = exs::monotonic_ns();
      for (const std::uint32_t connection : responses) {
        load_.round_trips.record(at_ns - sent_ns_[connection]);
        ++counts_[connection];
        send(connection);
      }
      if (at_ns >= end_ns) return at_ns;
    }
  }

  void forget() {
    load_.round_trips = {};
    std::ranges::fill(counts_, 0);
  }

  [[nodiscard]] Load result() const {
    Load out = load_;
    out.messages = out.round_trips.count();
    out.least = counts_[active_.front()];
    for (const std::uint32_t connection : active_) out.least = std::min(out.least, counts_[connection]);
    return out;
  }

  Client& client_;
  Load load_;
  std::vector<std::uint32_t> active_;
  std::vector<std::uint64_t> sent_ns_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

void number_message(std::span<std::byte> message, std::uint32_t connection) {
  std::memcpy(message.data(), &connection, sizeof connection);
}

void check_message(std::span<const std::byte> message, std::uint32_t connection, std::size_t size_bytes) {
  if (message.size() != size_bytes || std::memcmp(message.data(), &connection, sizeof connection) != 0)
    throw tools::Failure("a response is not what was sent");
}

Load measure_load(Client& client, const Settings& settings, std::uint32_t active) {
  return Rounds(client, settings, active).run(settings.time_ns);
}

}  // namespace crowd_rate
