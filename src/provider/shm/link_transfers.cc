// The link's reads and writes, and those of the peer that it serves.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/log.h"
#include "src/provider/shm/link.h"

namespace exs::shm {
namespace {

// Up to here one system call costs less than asking the peer and copying twice. Messages of 8 KiB, 8 at a
// time, are twice as fast in pieces.
constexpr std::size_t kSystemCallBytes = 4096;
// A peer that has not begun after that long does something else.
constexpr std::uint64_t kAnswerLimitNs = 30'000;
// Pieces that one link moves before others get their turn.
constexpr std::size_t kPiecesPerStep = 4;

}  // namespace

// ---------------------------------------------------------------- writes

Status ShmLink::post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (from.length_bytes > kTransferBytesMax) return Status(EMSGSIZE);
  if (from.length_bytes > to.length_bytes) return Status(EINVAL);
  const bool first = out_.empty();
  out_.push_back({OutKind::kWrite, nullptr, 0, {from.address, from.length_bytes}, to, false, token});
  if (state_ != State::kOpen || !first) return {};
  if (send_queued() != Turn::kIdle && !is_over()) exchange_.keep_busy(*this);
  return {};
}

Turn ShmLink::send_queued() {
  if (state_ != State::kOpen) return Turn::kIdle;
  std::size_t pieces = 0;
  while (!out_.empty()) {
    Outgoing& next = out_.front();
    if (next.kind != OutKind::kWrite) {
      if (!send(next)) return Turn::kWaits;
    } else if (!next.payload.empty()) {
      const Turn turn = write_step(next, pieces);
      if (is_over()) return Turn::kIdle;
      if (!next.payload.empty()) {
        if (turn != Turn::kIdle) return turn;
        continue;
      }
      complete(CompletionKind::kWrite, {}, next.token);
    } else {
      complete(CompletionKind::kWrite, {}, next.token);
    }
    out_.pop_front();
  }
  return Turn::kIdle;
}

// kIdle: a step was made, and another one may follow at once.
Turn ShmLink::write_step(Outgoing& write, std::size_t& pieces) {
  const PeerMemory::Way way = exchange_.memory.way(write.to.address, write.payload.size());
  const bool directly = way == PeerMemory::Way::kMapped ||
                        (way == PeerMemory::Way::kProcess &&
                         (write.payload.size() <= kSystemCallBytes || !exchange_.channel().peer_is_awake()));
  if (directly) return write_directly(write);
  if (pieces++ == kPiecesPerStep) return Turn::kMore;
  return write_piece(write);
}

Turn ShmLink::write_directly(Outgoing& write) {
  const PeerMemory::Moved moved = exchange_.memory.write(peer_number_, write.payload, write.to.address);
  if (moved.status == Status(EAGAIN)) return Turn::kWaits;
  if (moved.status == Status(EOPNOTSUPP)) return Turn::kIdle;
  if (!moved.status.ok()) {
    access_failed(moved.status, "write");
    return Turn::kIdle;
  }
  write.begun = true;
  write.payload = write.payload.subspan(moved.bytes);
  write.to.address += moved.bytes;
  return Turn::kMore;
}

Turn ShmLink::write_piece(Outgoing& write) {
  const std::span<std::byte> room = exchange_.piece_room();
  if (room.empty()) return Turn::kWaits;
  const std::size_t bytes = std::min(room.size(), write.payload.size());
  std::memcpy(room.data(), write.payload.data(), bytes);
  const WritePiece piece{write.to.address, write.to.key, static_cast<std::uint32_t>(bytes)};
  if (!exchange_.write(RecordKind::kWritePiece, peer_number_, body_bytes(piece))) return Turn::kWaits;
  exchange_.piece_filled();
  write.begun = true;
  write.payload = write.payload.subspan(bytes);
  write.to.address += bytes;
  return Turn::kIdle;
}

void ShmLink::take_write_piece(const WritePiece& piece, std::span<const std::byte> bytes) {
  if (bytes.empty()) return fault("a write of nothing");
  const WindowView view = windows_.find(piece.key, piece.address, bytes.size(), Access::kRemoteWrite);
  if (view.error != WindowError::kNone) return fault("a write to memory that is not open to it");
  std::memcpy(view.start, bytes.data(), bytes.size());
}

// ---------------------------------------------------------------- reads

Status ShmLink::post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (into.length_bytes > kTransferBytesMax) return Status(EMSGSIZE);
  if (into.length_bytes > from.length_bytes) return Status(EINVAL);
  if (depths_.reads_out == 0) return Status(EOPNOTSUPP);
  if (reads_.count() >= depths_.reads_out) return Status(EAGAIN);
  PendingRead& read = reads_.push_back(
      {{into.address, into.length_bytes}, from.address, from.key, ReadState::kWaiting, {}, 0, token});
  if (state_ != State::kOpen) return {};
  const Turn turn = begin_read(read);
  if (is_over()) return {};
  complete_reads();
  if (turn != Turn::kIdle) exchange_.keep_busy(*this);
  return {};
}

Turn ShmLink::begin_read(PendingRead& read) {
  if (read.into.empty()) {
    read.state = ReadState::kDone;
    return Turn::kIdle;
  }
  const PeerMemory::Way way = exchange_.memory.way(read.address, read.into.size());
  const bool directly = way == PeerMemory::Way::kMapped ||
                        (way == PeerMemory::Way::kProcess &&
                         (read.into.size() <= kSystemCallBytes || !exchange_.channel().peer_is_awake()));
  if (!directly) return ask_for(read);
  read.state = ReadState::kDirect;
  return read_directly(read);
}

Turn ShmLink::ask_for(PendingRead& read) {
  if (!exchange_.claims.open(read.ticket)) return Turn::kWaits;
  const ReadRequest request{read.ticket.slot, read.ticket.draw, read.key, 0, read.address, read.into.size()};
  if (!exchange_.write(RecordKind::kReadRequest, peer_number_, body_bytes(request))) {
    exchange_.claims.close(read.ticket);
    return Turn::kWaits;
  }
  read.state = ReadState::kAsked;
  read.asked_ns = 0;
  return await_answer(read);
}

Turn ShmLink::await_answer(PendingRead& read) {
  if (exchange_.claims.has_begun(read.ticket)) {
    read.state = ReadState::kServed;
    return Turn::kIdle;
  }
  if (exchange_.memory.way(read.address, read.into.size()) == PeerMemory::Way::kNone) {
    read.state = ReadState::kServed;  // will be: there is no other way
    return Turn::kIdle;
  }
  if (read.asked_ns == 0) read.asked_ns = context_.now_ns;
  const bool patient =
      exchange_.channel().peer_is_awake() && context_.now_ns - read.asked_ns < kAnswerLimitNs;
  if (patient) return Turn::kMore;
  if (!exchange_.claims.take_back(read.ticket)) return Turn::kMore;  // it has begun just now
  read.state = ReadState::kDirect;
  return read_directly(read);
}

Turn ShmLink::read_directly(PendingRead& read) {
  const PeerMemory::Moved moved = exchange_.memory.read(peer_number_, read.into, read.address);
  if (moved.status == Status(EAGAIN)) return Turn::kWaits;
  if (moved.status == Status(EOPNOTSUPP)) {
    read.state = ReadState::kWaiting;
    return Turn::kMore;
  }
  if (!moved.status.ok()) {
    access_failed(moved.status, "read");
    return Turn::kIdle;
  }
  read.into = read.into.subspan(moved.bytes);
  read.address += moved.bytes;
  if (!read.into.empty()) return Turn::kMore;
  read.state = ReadState::kDone;
  return Turn::kIdle;
}

Turn ShmLink::read_steps() {
  if (state_ != State::kOpen) return Turn::kIdle;
  Turn turn = Turn::kIdle;
  bool moved = false;  // one access at a time
  for (std::size_t i = 0; i < reads_.count(); ++i) {
    PendingRead& read = reads_[i];
    Turn step = Turn::kIdle;
    if (read.state == ReadState::kAsked) {
      step = await_answer(read);
    } else if (read.state == ReadState::kWaiting || read.state == ReadState::kDirect) {
      if (moved) {
        turn = Turn::kMore;
        break;
      }
      step = read.state == ReadState::kWaiting ? begin_read(read) : read_directly(read);
      moved = read.state == ReadState::kDirect || read.state == ReadState::kDone;
    }
    if (is_over()) return Turn::kIdle;
    turn = std::max(turn, step);
    if (step == Turn::kWaits) break;  // those behind would wait for the same
  }
  complete_reads();
  return turn;
}

void ShmLink::complete_reads() {
  while (!reads_.empty() && reads_.front().state == ReadState::kDone) {
    complete(CompletionKind::kRead, {}, reads_.pop_front().token);
  }
}

ShmLink::PendingRead* ShmLink::find_read(const ReadPiece& piece) {
  for (std::size_t i = 0; i < reads_.count(); ++i) {
    PendingRead& read = reads_[i];
    if (read.state != ReadState::kAsked && read.state != ReadState::kServed) continue;
    if (read.ticket.slot == piece.slot && read.ticket.draw == piece.draw) return &read;
  }
  return nullptr;
}

void ShmLink::take_read_piece(const ReadPiece& piece, std::span<const std::byte> bytes) {
  PendingRead* const read = find_read(piece);
  if (read == nullptr || bytes.empty() || bytes.size() > read->into.size()) {
    return fault("an answer that nobody asked for");
  }
  // Who may be answering does not have the read taken back any more.
  if (read->state == ReadState::kAsked && !exchange_.claims.has_begun(read->ticket)) {
    return fault("an answer that was not begun");
  }
  read->state = ReadState::kServed;
  std::memcpy(read->into.data(), bytes.data(), bytes.size());
  read->into = read->into.subspan(bytes.size());
  read->address += bytes.size();
  if (!read->into.empty()) return;
  exchange_.claims.close(read->ticket);
  read->state = ReadState::kDone;
  complete_reads();
}

void ShmLink::access_failed(Status status, const char* what) {
  // A peer that has gone is no news: the connection ends with that.
  const LogLevel level = status.error() == ECONNRESET ? LogLevel::kDebug : LogLevel::kWarn;
  log(level, "shm: a %s of process %d's memory failed: %s", what,
      static_cast<int>(exchange_.channel().peer_pid()), std::strerror(status.error()));
  end(status, Ending::kLost);
}

// ---------------------------------------------------------------- reads of the peer

void ShmLink::take_read_request(const ReadRequest& request) {
  if (request.length_bytes == 0 || request.length_bytes > kTransferBytesMax) {
    return fault("a read of nothing, or of too much");
  }
  const WindowView view =
      windows_.find(request.key, request.address, request.length_bytes, Access::kRemoteRead);
  if (view.error != WindowError::kNone) return fault("a read of memory that is not open to it");
  if (services_.count() >= depths_.reads_in) return fault("more reads at once than agreed");
  const Claims::Ticket ticket{request.slot, request.draw};
  if (!Claims::begin(exchange_.channel().peer_segment(), ticket)) return;  // the peer did it by itself
  windows_.begin_serving(request.key);
  services_.push_back({ticket, request.key, {view.start, request.length_bytes}});
  exchange_.keep_busy(*this);
}

Turn ShmLink::serve() {
  for (std::size_t pieces = 0; !services_.empty(); ++pieces) {
    if (pieces == kPiecesPerStep) return Turn::kMore;
    Service& service = services_.front();
    const std::span<std::byte> room = exchange_.piece_room();
    if (room.empty()) return Turn::kWaits;
    const std::size_t bytes = std::min(room.size(), service.source.size());
    std::memcpy(room.data(), service.source.data(), bytes);
    const ReadPiece piece{service.ticket.slot, service.ticket.draw, static_cast<std::uint32_t>(bytes)};
    if (!exchange_.write(RecordKind::kReadPiece, peer_number_, body_bytes(piece))) return Turn::kWaits;
    exchange_.piece_filled();
    service.source = service.source.subspan(bytes);
    if (!service.source.empty()) continue;
    windows_.end_serving(service.key);
    services_.pop_front();
  }
  return Turn::kIdle;
}

}  // namespace exs::shm
