// exs_send, exs_recv, exs_send_offset, exs_recv_offset, exs_flush.
#include "src/api/api_call.h"
#include "src/api/transfer.h"
#include "src/base/read_section.h"

namespace exs {
namespace {

using proto::Direction;

std::byte* bytes_of(const void* buffer) {
  return static_cast<std::byte*>(const_cast<void*>(buffer));  // of a send: only ever read
}

Status post(Library& library, const Transfer& transfer, const Piece& piece) {
  if (const Status status = check_flags(transfer.direction, transfer.flags, CallKind::kPlain); !status.ok())
    return status;
  const ReadSection section;
  const auto parties = peek_parties(library, transfer);
  if (!parties) return parties.error();
  return post_piece(library, transfer, *parties, piece, operation_of(transfer, *parties));
}

Status post_at(Library& library, const Transfer& transfer, const Piece& piece, std::uint64_t offset) {
  if (const Status status = check_flags(transfer.direction, transfer.flags, CallKind::kAtOffset);
      !status.ok())
    return status;
  const ReadSection section;
  const auto parties = peek_parties(library, transfer);
  if (!parties) return parties.error();
  proto::Operation operation = operation_of(transfer, *parties);
  operation.at_offset = true;
  operation.offset = offset;
  return post_piece(library, transfer, *parties, piece, operation);
}

class Flush final : public Task {
 public:
  explicit Flush(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  void run(Shard&) override { session_->flush(); }

 private:
  const std::shared_ptr<Session> session_;
};

}  // namespace
}  // namespace exs

using namespace exs;

int exs_send(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
             exs_ahandle_t handle, exs_mhandle_t region) {
  return api_call([&](Library& library) {
    const Transfer transfer{Direction::kSend, socket, flags, queue, handle};
    return api_result(post(library, transfer, {bytes_of(buffer), length, region}));
  });
}

int exs_recv(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue, exs_ahandle_t handle,
             exs_mhandle_t region) {
  return api_call([&](Library& library) {
    const Transfer transfer{Direction::kReceive, socket, flags, queue, handle};
    return api_result(post(library, transfer, {bytes_of(buffer), length, region}));
  });
}

int exs_send_offset(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                    exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset) {
  return api_call([&](Library& library) {
    const Transfer transfer{Direction::kSend, socket, flags, queue, handle};
    return api_result(post_at(library, transfer, {bytes_of(buffer), length, region}, offset));
  });
}

int exs_recv_offset(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                    exs_ahandle_t handle, exs_mhandle_t region, uint64_t offset) {
  return api_call([&](Library& library) {
    const Transfer transfer{Direction::kReceive, socket, flags, queue, handle};
    return api_result(post_at(library, transfer, {bytes_of(buffer), length, region}, offset));
  });
}

int exs_flush(int socket) {
  return api_call([&](Library& library) -> Result<int> {
    const auto parties = find_socket(library, socket);
    if (!parties) return failure(parties.error());
    if (parties->session->state() != Session::State::kConnected) return failure(ENOTCONN);
    auto session = parties->session->shared_from_this();
    const auto shard = session->shard();
    shard->execute(std::make_unique<Flush>(std::move(session)));
    return 0;
  });
}
