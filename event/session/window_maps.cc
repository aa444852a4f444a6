// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/window_maps.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace exs {

void WindowMaps::add(const ControlTarget& target) {
  try {
    held_.reserve(held_.size() + 1);
    waiting_.push_back(target);
  } catch (const std::bad_alloc&) {
    push(target, ENOMEM);
  }
}

void WindowMaps::answer(Link& link, const Result<RemoteSlice>& window) {
  if (!window) return end_all(window.error().error());
  Result<SharedMemory> memory = link.map(*window);
  if (!memory) return end_all(memory.error().error());
  if (std::find(held_.begin(), held_.end(), memory->mapping) == held_.end())
    held_.push_back(std::move(memory->mapping));
  for (const ControlTarget& target : std::exchange(waiting_, {})) push(target, 0, memory->bytes);
}

void WindowMaps::end_all(int error) {
  for (const ControlTarget& target : std::exchange(waiting_, {})) push(target, error);
}

std::uint32_t WindowMaps::cancel(const proto::Selection& selection) {
  return static_cast<std::uint32_t>(std::erase_if(waiting_, [&](const ControlTarget& target) {
    const bool named = selection.names(target.handle);
    if (named) push(target, ECANCELED);
    return named;
  }));
}

void WindowMaps::push(const ControlTarget& target, int error, std::span<std::byte> bytes) const {
  exs_event_t event = control_event(target, *number_, EXS_EVT_MAP, error);
  event.exs_evt_union.exs_evt_map = {.exs_evt_address = bytes.data(), .exs_evt_length = bytes.size()};
  target.queue->push(event, number_);
}

}  // namespace exs
