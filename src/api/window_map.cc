// exs_window_map.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/control.h"
#include "src/api/transfer.h"

namespace exs {
namespace {

Status map_window(Library& library, int socket, exs_qhandle_t queue, exs_ahandle_t handle) {
  const auto found = find_socket(library, socket);
  if (!found) return no_such_socket(socket);
  if (const Status status = assign_home(library, *found, queue); !status.ok()) return status;
  const auto session = found->shared_session();
  if (!session || session->state() != Session::State::kConnected)
    return refuse(ENOTCONN, "the socket is not connected, or no more");
  if (!session->allows_persistent()) return no_windows();
  auto target = claim_target(library, queue, handle);
  if (!target) return target.error();
  ClaimedSlot slot(*target);
  auto task = make_task([session, target = *target] { session->map_window(target); });
  slot.hand_over();
  session->shard()->execute(std::move(task));
  return Status();
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_window_map(int socket, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    if (const Status status = map_window(library, socket, queue, handle); !status.ok())
      return failure(status);
    return 0;
  });
}
