// exs_poll.
// SPDX-License-Identifier: BSD-2-Clause
#include <climits>

#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/control.h"

namespace exs {
namespace {

// `Polled`: a session or an acceptor.
template <typename Polled>
Status post(const std::shared_ptr<Polled>& polled, Result<ControlTarget> target, std::uint32_t events) {
  if (!target) return target.error();
  ClaimedSlot slot(*target);
  auto task = make_task([polled, target = *target, events] { polled->poll(target, events); });
  slot.hand_over();
  polled->shard()->execute(std::move(task));
  return Status();
}

Status nothing_to_poll() {
  return refuse(ENOTCONN,
                "the socket neither is connected nor listens: wait for EXS_EVT_CONNECT, or call exs_listen");
}

Status poll_one(Library& library, const exs_pollfd_t& entry, exs_qhandle_t queue) {
  const auto socket = find_socket(library, entry.pfd_socket);
  if (!socket) return no_such_socket(entry.pfd_socket);
  if ((entry.pfd_events & ~std::uint32_t{EXS_POLLIN | EXS_POLLOUT}) != 0)
    return refuse(EINVAL,
                  "the events {:#x} are none of EXS_POLLIN and EXS_POLLOUT; the others are told unasked",
                  entry.pfd_events);
  if (const Status status = assign_home(library, *socket, queue); !status.ok()) return status;
  LockGuard guard(socket->mutex);
  if (const auto session = socket->shared_session()) {
    const auto state = session->state();
    if (state == Session::State::kIdle || state == Session::State::kConnecting) return nothing_to_poll();
    return post(session, claim_target(library, queue, entry.pfd_ahandle), entry.pfd_events);
  }
  if (socket->backlog() == 0) return nothing_to_poll();
  auto target = claim_target(library, queue, entry.pfd_ahandle);
  if (!target) return target.error();
  const auto acceptor = acceptor_of(library, *socket, target->queue->home());
  return post(acceptor, std::move(target), entry.pfd_events);
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_poll(const exs_pollfd_t* entries, int count, int flags, exs_qhandle_t queue) {
  return api_call([&](Library& library) -> Result<int> {
    if (flags != 0) return failure(no_such_flags(flags));
    if (count <= 0) return failure(out_of_range(count, 1, INT_MAX));
    if (entries == nullptr) return failure(null_argument());
    for (int accepted = 0; accepted < count; ++accepted) {
      const Status status = poll_one(library, entries[accepted], queue);
      if (status.ok()) continue;
      if (accepted == 0) return failure(status);
      return accepted;
    }
    return count;
  });
}
