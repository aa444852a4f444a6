// The simulated network as a provider of one process. It is the whole network of a process that chose it, so the ends of
// its connections are in this process. README.md explains.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/virtual_clock.h"
#include "src/provider/provider.h"

namespace exs::sim {

struct Settings;

struct Report {
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::uint64_t passed_ns = 0;  // of virtual time
  std::uint64_t trace = 0;      // a hash of all steps in their order
};

// Thread: any.
class SimProvider : public Provider {
 public:
  // A new network, as the text behind "sim:" wants it. Ports that were opened before keep theirs. Returns what is
  // wrong with the text, in words, and changes nothing then; empty: nothing is wrong.
  virtual std::string restart(std::string_view words) = 0;
  // Null: the simulation goes by the real time.
  [[nodiscard]] virtual VirtualClock* clock() noexcept = 0;
  // The sleep that begins now ends as if by a signal.
  [[nodiscard]] virtual bool interrupts() = 0;
  // What has happened since restart().
  [[nodiscard]] virtual Report report() = 0;
  // The settings ask for a line about it at the end.
  [[nodiscard]] virtual bool wants_report() const noexcept = 0;
};

std::unique_ptr<SimProvider> make_sim_provider();
std::unique_ptr<SimProvider> make_sim_provider(const Settings& settings);

}  // namespace exs::sim
