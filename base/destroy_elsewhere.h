// Destroys objects whose destruction may take long.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exception>
#include <thread>
#include <utility>

#include "base/no_signals.h"

namespace exs {

// Destroys it on a separate thread, which takes no signals and for which no thread waits. If there is no
// thread, it destroys the object here.
template <typename Owner>
void destroy_elsewhere(Owner owner) noexcept {
  const NoSignals signals;
  try {
    std::thread([doomed = std::move(owner)]() mutable { const Owner gone = std::move(doomed); }).detach();
  } catch (const std::exception&) {  // no thread, or no memory for one
  }
}

}  // namespace exs
