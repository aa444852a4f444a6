// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/transfer.h"

#include "base/guarded_copy.h"
#include "base/read_section.h"
#include "base/refusal.h"
#include "base/undo.h"
#include "event/queue/transfer_event.h"
#include "src/api/adopt.h"
#include "src/api/memory.h"
#include "src/api/refusals.h"

namespace exs {
namespace {

using proto::Direction;
using proto::Operation;

// Accepted and ignored: nothing here blocks or signals.
constexpr int kTaken = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR;
constexpr int kOfSends = MSG_MORE | EXS_NO_IMMEDIATE | EXS_SHUT_WR;
constexpr int kOfReceives = MSG_WAITALL;
constexpr int kPersistent = EXS_PERSISTENT | EXS_NOTIFY | EXS_MAPPABLE;  // the last of receives alone
// A persistent operation does not end with a message, does not wait for another one, and ends with an error.
constexpr int kNotWithPersistent = MSG_MORE | EXS_SHUT_WR | EXS_NO_EVENT;

int allowed_flags(Direction direction, CallKind kind) {
  const int allowed = kTaken | (direction == Direction::kSend ? kOfSends : kOfReceives);
  switch (kind) {
    case CallKind::kPlain:
      return (allowed | EXS_NO_EVENT | kPersistent) & (direction == Direction::kSend ? ~EXS_MAPPABLE : ~0);
    case CallKind::kSync:  // MSG_MORE would hold back what the call waits for
      return direction == Direction::kSend ? allowed & ~MSG_MORE : allowed | MSG_TRUNC;
    default: return allowed | EXS_NO_EVENT;
  }
}

Status not_connected() {
  return refuse(ENOTCONN,
                "the socket is not connected: wait for EXS_EVT_CONNECT, or take that of EXS_EVT_ACCEPT");
}

// Adds the sentence to what Session::admit() says.
Status told(const TransferTarget& target, Direction direction, Status admitted) {
  switch (admitted.error()) {
    case 0: return admitted;
    case EAGAIN:
      return refuse(
          EAGAIN,
          "{} operations of this direction are pending, the most that EXS_F_SET_MAX_OPS allows: dequeue "
          "events first",
          target.session->open_count(direction));
    case EBUSY:
      return refuse(
          EBUSY,
          "a persistent operation of this direction is pending: cancel it and wait for its event first");
    case EPIPE:
      return refuse(EPIPE, "nothing more can be sent: the sending direction, or the connection, has ended");
    default:
      if (target.session->state() == Session::State::kConnecting) return not_connected();
      return refuse(admitted.error(),
                    "the connection has ended; if it broke, EXS_SO_ERROR_TEXT of the socket tells why");
  }
}

Status not_inside(const Piece& piece, const Region& region) {
  const auto number_of = [](const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address); };
  const std::byte* const begin = region.range().data();
  return refuse(EFAULT,
                "the {} bytes at {:#x} are not inside the region {:#x}, which covers [{:#x}, {:#x}): give "
                "memory of that "
                "region, or the region of that memory",
                piece.length_bytes, number_of(piece.address), int{piece.region}, number_of(begin),
                number_of(begin + region.range().size()));
}

bool has_right(Access access, Access right) {
  return (static_cast<unsigned>(access) & static_cast<unsigned>(right)) != 0;
}

// False: there was no memory to leave it to the thread that drives, and nothing has changed.
bool post(Session& session, Direction direction, const Operation& operation) {
  try {
    session.post(direction, operation);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Queue and region live until the event: neither can be deleted while its count includes the operation.
Status submit(OperationReservation& reservation, const TransferRequest& request, const TransferTarget& target,
              Operation& operation, Region* region, Attachment::Owner attachment) {
  Session& session = *target.session;
  std::shared_ptr<Operation> last;
  std::unique_ptr<Task> send_and_shut_down;
  if ((request.flags & EXS_SHUT_WR) != 0) {  // allocates before anything changes
    last = std::make_shared<Operation>();
    send_and_shut_down = make_task([session = session.shared_from_this(), last] {
      session->carry_out(Direction::kSend, *last);
      session->shutdown(SHUT_WR, {});
    });
  }
  if (region != nullptr && !region->use()) return refuse(EINVAL, "the region is being deregistered");
  operation.tag.region = region;
  operation.tag.attachment = attachment.get();
  reservation.hand_over();
  if (!last) {
    if (!post(session, request.direction, operation)) {
      if (region != nullptr) region->release();
      reservation.take_back();
      return Status(ENOMEM);
    }
    static_cast<void>(attachment.release());  // the operation's, which may have ended
    return Status();
  }
  static_cast<void>(attachment.release());
  session.forbid_sending();
  *last = session.timed(request.direction, operation);
  session.shard()->execute(std::move(send_and_shut_down));
  return Status();
}

Status reserve_and_submit(const TransferRequest& request, const TransferTarget& target, Operation& operation,
                          Region* region, Attachment::Owner attachment) {
  OperationReservation reservation(target, request.direction, operation.persistent);
  if (!reservation.status().ok()) return reservation.status();
  return submit(reservation, request, target, operation, region, std::move(attachment));
}

// A receive of memory that can be read at once. False: it is not done, and nothing has changed.
bool read_at_once(const TransferRequest& request, const TransferTarget& target, const Operation& operation) {
  if (request.direction == Direction::kSend || operation.persistent) return false;
  if (!target.session->may_read_at_once() || !target.queue->reserve()) return false;
  if (target.session->read_at_once(operation)) return true;
  target.queue->cancel_reservation();
  return false;
}

// EAGAIN: no slot for the notices.
Status attach_notice(Attachment& attachment, const TransferRequest& request, const TransferTarget& target,
                     const Operation& operation) {
  const auto& descriptor = target.session->descriptor();
  attachment.notice =
      Notice::create(target.queue->shared_from_this(),
                     use_event(descriptor->number(), request.direction, operation), descriptor);
  return attachment.notice ? Status() : queue_is_full(*target.queue);
}

Status post_registered(const TransferRequest& request, const TransferTarget& target, Region& region,
                       Operation& operation) {
  operation.memory.key = region.key();
  if (read_at_once(request, target, operation)) return Status();
  if (!operation.notify) return reserve_and_submit(request, target, operation, &region, nullptr);
  auto attachment = Attachment::create(target.session->shard()->providers(), 1, 0);
  if (!attachment) return Status(ENOMEM);
  attachment->posted = operation.memory.address;
  attachment->posted_bytes = operation.memory.length_bytes;
  if (const Status status = attach_notice(*attachment, request, target, operation); !status.ok())
    return status;
  return reserve_and_submit(request, target, operation, &region, std::move(attachment));
}

// Memory small enough to travel in its advertisement is copied, other memory registered for the operation.
Status post_unregistered(const TransferRequest& request, const TransferTarget& target, const Piece& piece,
                         Operation& operation) {
  if (piece.length_bytes == 0) return reserve_and_submit(request, target, operation, nullptr, nullptr);
  const bool copied = request.direction == Direction::kSend && !is_exposed(*target.session, operation) &&
                      piece.length_bytes <= target.session->small_bytes();
  if (const Status status = check_unregistered(piece, request.direction); !status.ok()) return status;
  auto attachment =
      Attachment::create(target.session->shard()->providers(), 1, copied ? piece.length_bytes : 0);
  if (!attachment) return Status(ENOMEM);
  attachment->posted = piece.address;
  attachment->posted_bytes = piece.length_bytes;
  std::span<std::byte> memory(piece.address, piece.length_bytes);
  if (copied) {
    if (!guarded_copy(attachment->own().data(), piece.address, piece.length_bytes))
      return not_mapped(piece.address, piece.length_bytes);
    attachment->event_flags = EXS_EVF_COPIED;
    memory = attachment->own();
  }
  const Access access = request.direction == Direction::kSend ? Access::kRemoteRead : Access::kLocal;
  if (const Status status = attachment->add(memory, access); !status.ok()) return status;
  attachment->describe(operation);
  return reserve_and_submit(request, target, operation, nullptr, std::move(attachment));
}

}  // namespace

OperationReservation::OperationReservation(const TransferTarget& target, Direction direction, bool persistent)
    : target_(target),
      direction_(direction),
      persistent_(persistent),
      status_(told(target, direction, target.session->admit(direction, persistent))) {
  if (!status_.ok()) return;
  Undo withdraw([&] { target.session->withdraw(direction, persistent); });
  held_ = target.queue->reserve();
  if (held_) {
    withdraw.cancel();
  } else {
    status_ = queue_is_full(*target.queue);
  }
}

OperationReservation::~OperationReservation() {
  if (!held_) return;
  target_.queue->cancel_reservation();
  target_.session->withdraw(direction_, persistent_);
}

Status no_windows() noexcept {
  return refuse(
      EOPNOTSUPP,
      "streams and sockets of the kernel have no persistent operations and no offsets: make both ends "
      "with exs_socket and SOCK_SEQPACKET");
}

Status check_flags(Direction direction, int flags, CallKind kind) {
  if (const int unknown = flags & ~allowed_flags(direction, kind); unknown != 0)
    return refuse(EOPNOTSUPP, "the call does not take the flags {:#x}: its page lists those it takes",
                  unknown);
  if ((flags & kPersistent) == 0) return Status();
  const bool persistent = (flags & EXS_PERSISTENT) != 0;
  if (persistent && (flags & kNotWithPersistent) == 0) return Status();
  return refuse(EOPNOTSUPP,
                "EXS_NOTIFY and EXS_MAPPABLE go with EXS_PERSISTENT, and that without MSG_MORE, EXS_SHUT_WR, "
                "EXS_NO_EVENT");
}

Result<TransferTarget> find_session(Library& library, int socket) {
  TransferTarget target;
  target.held_socket = find_socket(library, socket);
  if (!target.held_socket) return failure(no_such_socket(socket));
  if (const Status status = assign_any_home(library, *target.held_socket); !status.ok())
    return failure(status);
  target.session = target.held_socket->session();
  if (target.session == nullptr) return failure(not_connected());
  return target;
}

Result<TransferTarget> find_target(Library& library, const TransferRequest& request) {
  TransferTarget target;
  target.held_socket = find_socket(library, request.socket);
  if (!target.held_socket) return failure(no_such_socket(request.socket));
  if (const Status status = assign_home(library, *target.held_socket, request.queue); !status.ok())
    return failure(status);
  target.session = target.held_socket->session();
  if (target.session == nullptr) return failure(not_connected());
  target.held_queue = library.queues.find(request.queue);
  if (!target.held_queue) return failure(no_such_queue(request.queue));
  target.queue = target.held_queue.get();
  // No event says that plain bytes have reached the peer's memory.
  if ((request.flags & EXS_NO_IMMEDIATE) != 0 && target.session->carries_plain_bytes())
    return failure(refuse(EOPNOTSUPP,
                          "a socket of the kernel has no EXS_NO_IMMEDIATE: no event tells what has arrived"));
  return target;
}

Status peek_target(Library& library, const TransferRequest& request, TransferTarget& target) {
  const Socket* const socket = library.sockets.peek(request.socket);
  if (socket == nullptr) {
    auto found = find_target(library, request);
    if (!found) return found.error();
    target = std::move(*found);
    return Status();
  }
  target.session = socket->session();
  if (target.session == nullptr) return not_connected();
  target.queue = library.queues.peek(request.queue);
  return target.queue != nullptr ? Status() : no_such_queue(request.queue);
}

Operation operation_of(const TransferRequest& request, const TransferTarget& target) {
  const auto asked = [&](int flag) { return (request.flags & flag) != 0; };
  return {.memory = {},
          .vector = {},
          .offset = 0,
          .posted_ns = 0,
          .never_immediate = asked(EXS_NO_IMMEDIATE),
          .persistent = asked(EXS_PERSISTENT),
          .notify = asked(EXS_NOTIFY),
          .at_offset = false,
          .mappable = asked(EXS_MAPPABLE),
          .wait_all = asked(MSG_WAITALL),
          .more = asked(MSG_MORE),
          .tag = {.queue = target.queue,
                  .region = nullptr,
                  .attachment = nullptr,
                  .handle = request.handle,
                  .memory_handle = 0,
                  .event_type = 0,
                  .no_event = asked(EXS_NO_EVENT),
                  .pooled = false}};
}

Status check_unregistered(const Piece& piece, Direction direction) {
  if (!is_mapped(piece.address, piece.length_bytes)) return not_mapped(piece.address, piece.length_bytes);
  if (direction == Direction::kSend || is_writable(piece.address, piece.length_bytes)) return Status();
  return not_writable(piece.address, piece.length_bytes);
}

Status check_piece(const Piece& piece, const Region& region, const Session& session, Direction direction,
                   const Operation& operation) {
  if (piece.length_bytes > 0 && !region.contains(piece.address, piece.length_bytes))
    return not_inside(piece, region);
  if (direction == Direction::kReceive) {
    if (operation.persistent && !has_right(region.access(), Access::kRemoteWrite)) {
      return refuse(
          EACCES, "a peer may not write into region {:#x}: register it with EXS_MRF_REMOTE_WRITE or flags 0",
          int{piece.region});
    }
    if (operation.mappable && !region.allocated())
      return refuse(EINVAL, "region {:#x} is not from exs_alloc, and EXS_MAPPABLE takes nothing else",
                    int{piece.region});
    return region.writable() || piece.length_bytes == 0 ? Status()
                                                        : not_writable(piece.address, piece.length_bytes);
  }
  // A peer without a posted receive reads the data of a write at an offset.
  const bool exposed = operation.at_offset || is_exposed(session, operation);
  if (!exposed || has_right(region.access(), Access::kRemoteRead)) return Status();
  return refuse(
      EACCES,
      "the peer would read {} bytes from region {:#x}, and may not: register it with EXS_MRF_REMOTE_READ or "
      "flags 0, or send no more than {} bytes at once (EXS_F_GET_SMALL_MAX)",
      piece.length_bytes, int{piece.region}, session.small_bytes());
}

Status post_piece(Library& library, const TransferRequest& request, const TransferTarget& target,
                  const Piece& piece, Operation& operation) {
  if ((operation.persistent || operation.at_offset) && !target.session->allows_persistent())
    return no_windows();
  operation.memory = {piece.address, piece.length_bytes, {}};
  operation.tag.memory_handle = piece.region;
  const bool registered = piece.region != EXS_MHANDLE_UNREGISTERED;
  if (operation.persistent && (!registered || piece.length_bytes == 0))
    return refuse(
        EINVAL,
        "a persistent operation needs registered memory (exs_mregister, exs_alloc), at least one byte");
  if (!registered) return post_unregistered(request, target, piece, operation);
  const ReadSection section;
  Region* const region = library.regions.peek(piece.region);
  if (region == nullptr) return no_such_region(piece.region);
  const Status status = check_piece(piece, *region, *target.session, request.direction, operation);
  return status.ok() ? post_registered(request, target, *region, operation) : status;
}

Status post_attached(OperationReservation& reservation, const TransferRequest& request,
                     const TransferTarget& target, Attachment::Owner attachment, Operation operation) {
  attachment->describe(operation);
  return submit(reservation, request, target, operation, nullptr, std::move(attachment));
}

}  // namespace exs
