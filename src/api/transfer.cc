// exs_send and exs_recv: everything that can be checked is checked here, before anything changes; then the
// operation goes to its session's shard.
#include "src/api/api_call.h"

namespace exs {
namespace {

struct Transfer {
  int socket;
  std::byte* buffer;
  std::size_t length_bytes;
  bool never_immediate;
  exs_qhandle_t queue;
  exs_ahandle_t handle;
  exs_mhandle_t region;
};

Status check_memory(const Transfer& transfer, const Region& region, Session& session,
                    proto::Direction direction) {
  if (transfer.length_bytes > 0 && !region.contains(transfer.buffer, transfer.length_bytes))
    return Status(EFAULT);
  if (direction == proto::Direction::kReceive) return Status();
  // Only a message that travels inside its advertisement does without the peer reading our memory.
  const bool exposed = transfer.never_immediate || transfer.length_bytes > session.small_bytes();
  const bool readable =
      (static_cast<unsigned>(region.access()) & static_cast<unsigned>(Access::kRemoteRead)) != 0;
  return exposed && !readable ? Status(EACCES) : Status();
}

// Takes a place at the session, a slot of the queue and a use of the region: all or none.
Status claim(Session& session, proto::Direction direction, EventQueue& queue, Region& region) {
  if (const Status status = session.admit(direction); !status.ok()) return status;
  if (!queue.reserve()) {
    session.withdraw(direction);
    return Status(EAGAIN);
  }
  if (!region.use()) {
    queue.cancel_reservation();
    session.withdraw(direction);
    return Status(EINVAL);
  }
  return Status();
}

Status post(Library& library, const Transfer& transfer, proto::Direction direction) {
  const auto socket = library.sockets.find(transfer.socket);
  if (!socket) return Status(EBADF);
  Session* session = socket->session();
  if (session == nullptr) return Status(ENOTCONN);
  const auto queue = library.queues.find(transfer.queue);
  if (!queue) return Status(EBADF);
  if (transfer.region == EXS_MHANDLE_UNREGISTERED) return Status(EOPNOTSUPP);
  const auto region = library.regions.find(transfer.region);
  if (!region) return Status(EINVAL);
  if (const Status status = check_memory(transfer, *region, *session, direction); !status.ok()) return status;
  if (const Status status = claim(*session, direction, *queue, *region); !status.ok()) return status;
  // Queue and region stay until the event: neither can be deleted while its count says that we use it.
  proto::Operation operation;
  operation.memory = {transfer.buffer, transfer.length_bytes, region->key()};
  operation.never_immediate = transfer.never_immediate;
  operation.tag.queue = queue.get();
  operation.tag.region = region.get();
  operation.tag.handle = transfer.handle;
  operation.tag.memory_handle = transfer.region;
  session->post(direction, operation);
  return Status();
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_send(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
             exs_ahandle_t handle, exs_mhandle_t region) {
  return api_call([&](Library& library) -> Result<int> {
    if ((flags & ~EXS_NO_IMMEDIATE) != 0) return failure(EOPNOTSUPP);
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(buffer));  // only ever read
    return api_result(post(library,
                           {socket, bytes, length, (flags & EXS_NO_IMMEDIATE) != 0, queue, handle, region},
                           proto::Direction::kSend));
  });
}

int exs_recv(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue, exs_ahandle_t handle,
             exs_mhandle_t region) {
  return api_call([&](Library& library) -> Result<int> {
    if ((flags & ~MSG_WAITALL) != 0) return failure(EOPNOTSUPP);
    return api_result(post(library,
                           {socket, static_cast<std::byte*>(buffer), length, false, queue, handle, region},
                           proto::Direction::kReceive));
  });
}
