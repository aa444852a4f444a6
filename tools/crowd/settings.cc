// SPDX-License-Identifier: BSD-2-Clause
#include "tools/crowd/settings.h"

#include <chrono>
#include <system_error>

#include "tools/common/clock.h"
#include "tools/common/failure.h"

namespace crowd {

std::span<const exs_event_t> wait_for_events(const exs::cpp::Queue& queue, std::span<exs_event_t> room,
                                             std::int64_t timeout_ns) {
  for (tools::Patience patience(timeout_ns);; patience.note_signal()) {
    const auto taken = queue.wait(room, 1, std::chrono::nanoseconds(patience.left_ns()));
    if (taken) return taken.events;
    if (taken.error != std::errc::interrupted) tools::fail("cannot wait for events", taken.error.value());
  }
}

void ErrorCount::note(const std::string& what, int error) {
  if (count++ == 0) first = what + ": " + std::generic_category().message(error);
}

void ErrorCount::add(const ErrorCount& others) {
  if (count == 0) first = others.first;
  count += others.count;
}

}  // namespace crowd
