// exs_send, exs_recv, exs_send_offset, exs_recv_offset, exs_flush.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/read_section.h"
#include "src/api/api_call.h"
#include "src/api/short_path.h"
#include "src/api/transfer.h"

namespace exs {
namespace {

using proto::Direction;

std::byte* bytes_of(const void* buffer) {
  return static_cast<std::byte*>(const_cast<void*>(buffer));  // of a send: only ever read
}

Status post(Library& library, const TransferRequest& request, const Piece& piece) {
  if (const Status status = check_flags(request.direction, request.flags, CallKind::kPlain); !status.ok())
    return status;
  const ReadSection section;
  TransferTarget target;
  if (const Status status = peek_target(library, request, target); !status.ok()) return status;
  proto::Operation operation = operation_of(request, target);
  return post_piece(library, request, target, piece, operation);
}

Status post_at(Library& library, const TransferRequest& request, const Piece& piece, std::uint64_t offset) {
  if (const Status status = check_flags(request.direction, request.flags, CallKind::kAtOffset); !status.ok())
    return status;
  const ReadSection section;
  TransferTarget target;
  if (const Status status = peek_target(library, request, target); !status.ok()) return status;
  proto::Operation operation = operation_of(request, target);
  operation.at_offset = true;
  operation.offset = offset;
  return post_piece(library, request, target, piece, operation);
}

// Apart from exs_send and exs_recv, so that the short way does not pay for what the whole one keeps on the stack.
[[gnu::noinline]] int send_whole(int socket, const void* buffer, size_t length, int flags,
                                 exs_qhandle_t queue, exs_ahandle_t handle, exs_mhandle_t region) {
  return api_call(
      [&](Library& library) {
        const TransferRequest request{Direction::kSend, socket, flags, queue, handle};
        return post(library, request, {bytes_of(buffer), length, region});
      },
      "exs_send");
}

[[gnu::noinline]] int receive_whole(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                                    exs_ahandle_t handle, exs_mhandle_t region) {
  return api_call(
      [&](Library& library) {
        const TransferRequest request{Direction::kReceive, socket, flags, queue, handle};
        return post(library, request, {bytes_of(buffer), length, region});
      },
      "exs_recv");
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_send(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
             exs_ahandle_t handle, exs_mhandle_t region) {
  if (send_short(socket, buffer, length, flags, queue, handle, region)) return 0;
  return send_whole(socket, buffer, length, flags, queue, handle, region);
}

int exs_recv(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue, exs_ahandle_t handle,
             exs_mhandle_t region) {
  if (receive_short(socket, buffer, length, flags, queue, handle, region)) return 0;
  return receive_whole(socket, buffer, length, flags, queue, handle, region);
}

int exs_send_offset(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                    exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset) {
  return api_call([&](Library& library) {
    const TransferRequest request{Direction::kSend, socket, flags, queue, handle};
    return post_at(library, request, {bytes_of(buffer), length, region}, offset);
  });
}

int exs_recv_offset(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                    exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset) {
  return api_call([&](Library& library) {
    const TransferRequest request{Direction::kReceive, socket, flags, queue, handle};
    return post_at(library, request, {bytes_of(buffer), length, region}, offset);
  });
}

int exs_flush(int socket) {
  return api_call([&](Library& library) -> Result<int> {
    const auto target = find_session(library, socket);
    if (!target) return failure(target.error());
    if (target->session->state() != Session::State::kConnected) return failure(ENOTCONN);
    const auto session = target->session->shared_from_this();
    session->shard()->execute(make_task([session] { session->flush(); }));
    return 0;
  });
}
