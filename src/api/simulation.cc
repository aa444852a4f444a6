// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/simulation.h"

#include <unistd.h>

#include <atomic>
#include <memory>

#include "base/kernel.h"
#include "base/lazy.h"
#include "event/engine/simulated_time.h"
#include "src/log/log.h"
#include "src/provider/registry.h"
#include "src/provider/sim/sim.h"

namespace exs {

bool simulates_time() noexcept {
  sim::SimProvider* const simulated = simulation();
  return simulated != nullptr && simulated->clock() != nullptr;
}

TimeSource time_of_process() {
  static constinit Lazy<SimulatedTime> simulated;
  static constinit std::atomic<pid_t> owner{0};
  if (!simulates_time()) return TimeSource::real();
  // The threads of the parent take no part in the time of a forked child.
  if (owner.exchange(kernel::getpid()) != kernel::getpid()) simulated.replace(nullptr);
  const auto make = [] {
    sim::SimProvider& one = *simulation();
    return std::make_unique<SimulatedTime>(*one.clock(), [&one] { return one.interrupts(); });
  };
  return simulated.get(make).source();
}

void report_simulation() {
  sim::SimProvider* const simulated = simulation();
  if (simulated == nullptr || !simulated->wants_report()) return;
  const sim::Report report = simulated->report();
  log(LogLevel::kWarn, "sim: seed {}: {} steps in {} ns, trace {:016x}", report.seed, report.steps,
      report.passed_ns, report.trace);
}

}  // namespace exs
