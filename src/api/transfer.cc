#include "src/api/transfer.h"

#include <cstring>

#include "event/queue/transfer_event.h"
#include "src/api/adopt.h"
#include "src/api/memory.h"
#include "src/base/read_section.h"

namespace exs {
namespace {

using proto::Direction;
using proto::Operation;

constexpr int kTaken = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR;  // and ignored: nothing here blocks or signals
constexpr int kOfSends = MSG_MORE | EXS_NO_IMMEDIATE | EXS_SHUT_WR;
constexpr int kOfReceives = MSG_WAITALL;
constexpr int kPersistent = EXS_PERSISTENT | EXS_NOTIFY;
// A persistent operation neither ends with a message nor waits for another one, and its end is an error.
constexpr int kNotWithPersistent = MSG_MORE | EXS_SHUT_WR | EXS_NO_EVENT;

int allowed_flags(Direction direction, CallKind kind) {
  const int allowed = kTaken | (direction == Direction::kSend ? kOfSends : kOfReceives);
  switch (kind) {
    case CallKind::kPlain: return allowed | EXS_NO_EVENT | kPersistent;
    case CallKind::kSync: return allowed & ~MSG_MORE;  // who waits cannot post what it waits for
    default: return allowed | EXS_NO_EVENT;
  }
}

bool has_right(Access access, Access right) {
  return (static_cast<unsigned>(access) & static_cast<unsigned>(right)) != 0;
}

class SendAndShutDown final : public Task {
 public:
  explicit SendAndShutDown(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  void carry(const Operation& operation) { operation_ = operation; }
  void run(Shard&) override {
    session_->carry_out(Direction::kSend, operation_);
    session_->shutdown(SHUT_WR, {});
  }

 private:
  const std::shared_ptr<Session> session_;
  Operation operation_;
};

// Queue and region stay until the event: neither can be deleted while its count says that we use it.
Status launch(Place& place, const Transfer& transfer, const Parties& parties, Operation& operation,
              Region* region, Attachment::Owner attachment) {
  Session& session = *parties.session;
  std::unique_ptr<SendAndShutDown> last;
  if ((transfer.flags & EXS_SHUT_WR) != 0)
    last = std::make_unique<SendAndShutDown>(session.shared_from_this());
  if (region != nullptr && !region->use()) return Status(EINVAL);
  place.hand_over();
  operation.tag.region = region;
  operation.tag.attachment = attachment.release();
  if (!last) {
    session.post(transfer.direction, operation);
    return Status();
  }
  session.forbid_sending();
  last->carry(session.timed(transfer.direction, operation));
  session.shard()->execute(std::move(last));
  return Status();
}

Status take_and_launch(const Transfer& transfer, const Parties& parties, Operation& operation, Region* region,
                       Attachment::Owner attachment) {
  Place place(parties, transfer.direction, operation.persistent);
  if (!place.taken().ok()) return place.taken();
  return launch(place, transfer, parties, operation, region, std::move(attachment));
}

// EAGAIN: no slot for the notices.
Status attach_notice(Attachment& attachment, const Transfer& transfer, const Parties& parties,
                     const Operation& operation) {
  const auto& descriptor = parties.session->descriptor();
  attachment.notice =
      Notice::create(parties.queue->shared_from_this(),
                     use_event(descriptor->number(), transfer.direction, operation), descriptor);
  return attachment.notice ? Status() : Status(EAGAIN);
}

Status post_registered(const Transfer& transfer, const Parties& parties, Region& region,
                       Operation& operation) {
  operation.memory.key = region.key();
  if (!operation.notify) return take_and_launch(transfer, parties, operation, &region, nullptr);
  auto attachment = Attachment::create(parties.session->shard()->providers(), 1, 0);
  if (!attachment) return Status(ENOMEM);
  attachment->posted = operation.memory.address;
  attachment->posted_bytes = operation.memory.length_bytes;
  if (const Status status = attach_notice(*attachment, transfer, parties, operation); !status.ok())
    return status;
  return take_and_launch(transfer, parties, operation, &region, std::move(attachment));
}

// Copied when it is small enough to travel in its advertisement, else registered for as long as it takes.
Status post_unregistered(const Transfer& transfer, const Parties& parties, const Piece& piece,
                         Operation& operation) {
  if (piece.length_bytes == 0) return take_and_launch(transfer, parties, operation, nullptr, nullptr);
  const bool copied = transfer.direction == Direction::kSend && !is_exposed(*parties.session, operation) &&
                      piece.length_bytes <= parties.session->small_bytes();
  if (!is_mapped(piece.address, piece.length_bytes)) return Status(EFAULT);
  auto attachment =
      Attachment::create(parties.session->shard()->providers(), 1, copied ? piece.length_bytes : 0);
  if (!attachment) return Status(ENOMEM);
  attachment->posted = piece.address;
  attachment->posted_bytes = piece.length_bytes;
  std::span<std::byte> memory(piece.address, piece.length_bytes);
  if (copied) {
    std::memcpy(attachment->own().data(), piece.address, piece.length_bytes);
    attachment->event_flags = EXS_EVF_COPIED;
    memory = attachment->own();
  }
  const Access access = transfer.direction == Direction::kSend ? Access::kRemoteRead : Access::kLocal;
  if (const Status status = attachment->add(memory, access); !status.ok()) return status;
  attachment->describe(operation);
  return take_and_launch(transfer, parties, operation, nullptr, std::move(attachment));
}

}  // namespace

Place::Place(const Parties& parties, Direction direction, bool persistent)
    : parties_(parties),
      direction_(direction),
      persistent_(persistent),
      taken_(parties.session->admit(direction, persistent)) {
  if (!taken_.ok()) return;
  held_ = parties.queue->reserve();
  if (held_) return;
  taken_ = Status(EAGAIN);
  parties.session->withdraw(direction, persistent);
}

Place::~Place() {
  if (!held_) return;
  parties_.queue->cancel_reservation();
  parties_.session->withdraw(direction_, persistent_);
}

// Only a message that travels inside its advertisement does without the peer reading our memory. One at an
// offset is written when we know of the place, else advertised: that is seen when it leaves.
bool is_exposed(const Session& session, const Operation& operation) {
  if (session.carries_plain_bytes()) return false;
  return operation.never_immediate || operation.persistent || operation.at_offset ||
         operation.memory.length_bytes > session.small_bytes();
}

Status check_flags(Direction direction, int flags, CallKind kind) {
  if ((flags & ~allowed_flags(direction, kind)) != 0) return Status(EOPNOTSUPP);
  if ((flags & kPersistent) == 0) return Status();
  const bool persistent = (flags & EXS_PERSISTENT) != 0;
  return !persistent || (flags & kNotWithPersistent) != 0 ? Status(EOPNOTSUPP) : Status();
}

Result<Parties> find_socket(Library& library, int socket) {
  Parties parties;
  parties.held_socket = library.sockets.find(socket);
  if (!parties.held_socket) return failure(EBADF);
  if (const Status status = settle_anywhere(library, *parties.held_socket); !status.ok())
    return failure(status);
  parties.session = parties.held_socket->session();
  if (parties.session == nullptr) return failure(ENOTCONN);
  return parties;
}

Result<Parties> find_parties(Library& library, const Transfer& transfer) {
  Parties parties;
  parties.held_socket = library.sockets.find(transfer.socket);
  if (!parties.held_socket) return failure(EBADF);
  if (const Status status = settle(library, *parties.held_socket, transfer.queue); !status.ok())
    return failure(status);
  parties.session = parties.held_socket->session();
  if (parties.session == nullptr) return failure(ENOTCONN);
  parties.held_queue = library.queues.find(transfer.queue);
  if (!parties.held_queue) return failure(EBADF);
  parties.queue = parties.held_queue.get();
  // Nobody tells when plain bytes have reached the peer's memory.
  if ((transfer.flags & EXS_NO_IMMEDIATE) != 0 && parties.session->carries_plain_bytes())
    return failure(EOPNOTSUPP);
  return parties;
}

Result<Parties> peek_parties(Library& library, const Transfer& transfer) {
  const Socket* const socket = library.sockets.peek(transfer.socket);
  if (socket == nullptr) return find_parties(library, transfer);
  Parties parties;
  parties.session = socket->session();
  if (parties.session == nullptr) return failure(ENOTCONN);
  parties.queue = library.queues.peek(transfer.queue);
  if (parties.queue == nullptr) return failure(EBADF);
  return parties;
}

Operation operation_of(const Transfer& transfer, const Parties& parties) {
  const auto asked = [&](int flag) { return (transfer.flags & flag) != 0; };
  Operation operation;
  operation.never_immediate = asked(EXS_NO_IMMEDIATE);
  operation.persistent = asked(EXS_PERSISTENT);
  operation.notify = asked(EXS_NOTIFY);
  operation.wait_all = asked(MSG_WAITALL);
  operation.more = asked(MSG_MORE);
  operation.tag.no_event = asked(EXS_NO_EVENT);
  operation.tag.queue = parties.queue;
  operation.tag.handle = transfer.handle;
  return operation;
}

Status check_piece(const Piece& piece, const Region& region, const Session& session, Direction direction,
                   const Operation& operation) {
  if (piece.length_bytes > 0 && !region.contains(piece.address, piece.length_bytes)) return Status(EFAULT);
  if (direction == Direction::kReceive)
    return operation.persistent && !has_right(region.access(), Access::kRemoteWrite) ? Status(EACCES)
                                                                                     : Status();
  // A peer that has posted no receive yet when a write at an offset comes reads its data instead.
  const bool exposed = operation.at_offset || is_exposed(session, operation);
  return exposed && !has_right(region.access(), Access::kRemoteRead) ? Status(EACCES) : Status();
}

Status post_piece(Library& library, const Transfer& transfer, const Parties& parties, const Piece& piece,
                  Operation operation) {
  if ((operation.persistent || operation.at_offset) && !parties.session->allows_persistent())
    return Status(EOPNOTSUPP);
  operation.memory = {piece.address, piece.length_bytes, {}};
  operation.tag.memory_handle = piece.region;
  const bool registered = piece.region != EXS_MHANDLE_UNREGISTERED;
  if (operation.persistent && (!registered || piece.length_bytes == 0)) return Status(EINVAL);
  if (!registered) return post_unregistered(transfer, parties, piece, operation);
  const ReadSection section;
  Region* const region = library.regions.peek(piece.region);
  if (region == nullptr) return Status(EINVAL);
  const Status status = check_piece(piece, *region, *parties.session, transfer.direction, operation);
  return status.ok() ? post_registered(transfer, parties, *region, operation) : status;
}

Status post_attached(Place& place, const Transfer& transfer, const Parties& parties,
                     Attachment::Owner attachment, Operation operation) {
  attachment->describe(operation);
  return launch(place, transfer, parties, operation, nullptr, std::move(attachment));
}

}  // namespace exs
