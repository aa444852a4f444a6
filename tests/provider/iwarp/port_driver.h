// Drives one or more ports from the test's thread, sleeping on their wait_fd()s, and keeps their completions.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/provider/connector.h"
#include "src/provider/iwarp/settings.h"
#include "tests/provider/iwarp/sockets.h"

namespace exs::iwarp::test {

inline constexpr std::uint64_t kStartNs = 1'000'000'000;

class PortDriver {
 public:
  explicit PortDriver(const Settings& settings, bool as_engine = false)
      : provider(make_iwarp_provider(settings)), port(open(*provider)) {
    if (as_engine) become_engine();
  }

  // The calling thread drives as a shard's engine does.
  void become_engine() {
    if (SingleIssuer* const issuer = port->single_issuer()) issuer->bind_thread();
  }
  // One round: flush, look at the network, take completions.
  void turn() {
    port->flush();
    port->progress(now_ns);
    collect();
  }
  void collect() {
    Completion batch[7];  // odd and small: poll() must cope with any room
    while (const std::size_t count = port->poll(batch)) seen.insert(seen.end(), batch, batch + count);
  }

  std::optional<Completion> take(CompletionKind kind, std::uint64_t link) {
    for (auto it = seen.begin(); it != seen.end(); ++it) {
      if (it->kind != kind || it->link != link) continue;
      const Completion found = *it;
      seen.erase(it);
      return found;
    }
    return std::nullopt;
  }

  std::unique_ptr<Provider> provider;
  std::unique_ptr<Port> port;
  std::uint64_t now_ns = kStartNs;  // a fake clock; moved by the test alone
  std::deque<Completion> seen;

 private:
  static std::unique_ptr<Port> open(Provider& from) {
    Reason why_not;
    Result<std::unique_ptr<Port>> opened = from.open_port(why_not);
    require(opened.has_value(), "open_port");
    return std::move(*opened);
  }
};

// Turns all drivers until `done()`; sleeps in poll() while nothing is ready. Throws when nothing happens for
// long.
template <typename Done>
void drive_until(std::span<PortDriver* const> drivers, Done done) {
  for (;;) {
    for (PortDriver* driver : drivers) driver->turn();
    if (done()) return;
    std::vector<pollfd> waits;
    for (PortDriver* driver : drivers) waits.push_back({driver->port->wait_fd(), POLLIN, 0});
    require(::poll(waits.data(), waits.size(), kWaitLimitMs) > 0, "nothing happened for a long time");
  }
}

// Drives until that completion is there and takes it.
inline Completion await(std::span<PortDriver* const> drivers, PortDriver& where, CompletionKind kind,
                        std::uint64_t link) {
  std::optional<Completion> found;
  drive_until(drivers, [&] {
    found = where.take(kind, link);
    return found.has_value();
  });
  return *found;
}

}  // namespace exs::iwarp::test
