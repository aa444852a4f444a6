// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/open_polls.h"

#include <algorithm>
#include <cerrno>
#include <new>

namespace exs {
namespace {

constexpr std::uint32_t kAlwaysTold = EXS_POLLERR | EXS_POLLHUP;

}  // namespace

void OpenPolls::add(const ControlTarget& target, std::uint32_t events) {
  try {
    polls_.push_back({target, events});
  } catch (const std::bad_alloc&) {
    push({target, events}, ENOMEM, 0);
  }
}

bool OpenPolls::asks_for(std::uint32_t event) const noexcept {
  return std::any_of(polls_.begin(), polls_.end(),
                     [event](const Poll& poll) { return (poll.events & event) != 0; });
}

void OpenPolls::answer(std::uint32_t revents, std::uint64_t next_bytes) {
  std::erase_if(polls_, [&](const Poll& poll) {
    const std::uint32_t told = revents & (poll.events | kAlwaysTold);
    if (told != 0) push(poll, 0, told, (told & EXS_POLLIN) != 0 ? next_bytes : 0);
    return told != 0;
  });
}

std::uint32_t OpenPolls::cancel(const proto::Selection& selection) {
  return static_cast<std::uint32_t>(std::erase_if(polls_, [&](const Poll& poll) {
    const bool named = selection.names(poll.target.handle);
    if (named) push(poll, ECANCELED, 0);
    return named;
  }));
}

void OpenPolls::push(const Poll& poll, int error, std::uint32_t revents, std::uint64_t next_bytes) const {
  exs_event_t event = control_event(poll.target, *number_, EXS_EVT_POLL, error);
  event.exs_evt_union.exs_evt_poll = {
      .exs_evt_revents = revents, .exs_evt_rsvd = 0, .exs_evt_next_length = next_bytes};
  poll.target.queue->push(event, number_);
}

}  // namespace exs
