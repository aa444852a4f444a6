// exs_send_sync, exs_recv_sync.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/api_call.h"
#include "src/api/waited_transfer.h"

namespace exs {
namespace {

using proto::Direction;

Result<ssize_t> move(Library& library, Direction direction, int socket, int flags, const Piece& piece) {
  if (const Status status = check_flags(direction, flags, CallKind::kSync); !status.ok())
    return failure(status);
  auto waited = WaitedTransfers::on(library, socket);
  if (!waited) return failure(waited.error());
  const TransferRequest request = waited->request(direction, flags);
  proto::Operation operation = operation_of(request, waited->target());
  const Status posted = post_piece(library, request, waited->target(), piece, operation);
  if (!posted.ok()) return failure(posted);
  const auto moved = waited->outcome(request, kNoDeadline, Status());
  if (!moved) return failure(moved.error());
  return static_cast<ssize_t>(*moved);
}

}  // namespace
}  // namespace exs

using namespace exs;

ssize_t exs_send_sync(int socket, const void* buffer, size_t length, int flags, exs_mhandle_t region) {
  return api_call<ssize_t>(-1, [&](Library& library) {
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(buffer));  // only ever read
    return move(library, Direction::kSend, socket, flags, {bytes, length, region});
  });
}

ssize_t exs_recv_sync(int socket, void* buffer, size_t length, int flags, exs_mhandle_t region) {
  return api_call<ssize_t>(-1, [&](Library& library) {
    return move(library, Direction::kReceive, socket, flags,
                {static_cast<std::byte*>(buffer), length, region});
  });
}
