// A port that a test drives, as a shard drives its ports, and the completions that came out of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "src/provider/provider.h"

namespace exs::test {

inline constexpr int kHangLimitMs = 30'000;

void require(bool condition, const std::string& what);

// Thread: the owner's.
class DrivenPort {
 public:
  explicit DrivenPort(Provider& provider);

  // The calling thread drives as a shard's engine does.
  void become_engine();
  // One round: starts what was posted, looks at the network, takes completions. True: something came.
  bool turn();
  // Takes the completions that are there already.
  void collect();
  std::optional<Completion> take(CompletionKind kind);
  std::optional<Completion> take(CompletionKind kind, std::uint64_t link);

  Port* operator->() const { return port_.get(); }
  [[nodiscard]] Port& port() const { return *port_; }

  std::deque<Completion> seen;

 private:
  std::unique_ptr<Port> port_;
};

using DrivenPorts = std::initializer_list<DrivenPort*>;

// Turns all of them until `done()`; sleeps, armed, while there is nothing to do. Throws when nothing happens for
// long.
void drive_until(DrivenPorts ports, const std::function<bool()>& done);
// Drives all of them until that completion is there, and takes it.
Completion await(DrivenPorts ports, DrivenPort& where, CompletionKind kind, std::uint64_t link);

}  // namespace exs::test
