// A port that a test drives, as a shard drives its ports, and the port's completions.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "src/provider/provider.h"
#include "tests/support/require.h"

namespace exs::test {

inline constexpr int kHangLimitMs = 120'000;

// Thread: the owner's.
class DrivenPort {
 public:
  // `from` must outlive it.
  explicit DrivenPort(Provider& from);
  explicit DrivenPort(std::unique_ptr<Provider> own);
  DrivenPort(const DrivenPort&) = delete;
  DrivenPort& operator=(const DrivenPort&) = delete;

  // The calling thread drives from now on, as a shard's engine does.
  void become_engine();
  // One round: starts posted operations, looks at the network, takes completions. True: there were
  // completions.
  bool turn();
  // Takes the completions that are already there.
  void collect();
  std::optional<Completion> take(CompletionKind kind);
  std::optional<Completion> take(CompletionKind kind, std::uint64_t link);

  // Ends the port as the end of its process would. Only the destructor may follow.
  void destroy_port() { port_.reset(); }
  // The completions of one link so far, in order: a letter for the kind, the token and the error of each.
  [[nodiscard]] std::string history(std::uint64_t link) const;

  Port* operator->() const { return port_.get(); }
  [[nodiscard]] Provider& provider() const { return provider_; }

  // The time for progress().
  std::function<std::uint64_t()> clock = monotonic_ns;
  std::deque<Completion> seen;

 private:
  const std::unique_ptr<Provider> own_provider_;
  Provider& provider_;
  std::unique_ptr<Port> port_;
};

using DrivenPorts = std::vector<DrivenPort*>;

// Turns all of them until `done()`. Sleeps, armed, while there is nothing to do. Throws if nothing completes
// for a long time.
void drive_until(const DrivenPorts& ports, const std::function<bool()>& done);
// Drives all of them until that completion arrives, and takes it.
Completion await(const DrivenPorts& ports, DrivenPort& where, CompletionKind kind, std::uint64_t link);

}  // namespace exs::test
