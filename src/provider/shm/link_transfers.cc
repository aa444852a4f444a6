// The link's reads and writes, and those of the peer that it serves.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/guarded_copy.h"
#include "src/log/log.h"
#include "src/provider/shm/link.h"
#include "src/provider/shm/region_address.h"

namespace exs::shm {
namespace {

// Up to here one system call costs less than asking the peer and copying twice. READs beyond it are timed (read_choice.h).
constexpr std::size_t kSystemCallBytes = 4096;
// A read at once delays other links as long as one piece does.
constexpr std::size_t kNowBytes = std::size_t{64} * 1024;
// After this time without a begin, the peer is assumed to be busy.
constexpr std::uint64_t kAnswerLimitNs = 30'000;
// Pieces that one link moves before other links continue.
constexpr std::size_t kPiecesPerStep = 4;

}  // namespace

// ---------------------------------------------------------------- writes

Status ShmLink::post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (from.length_bytes > kTransferBytesMax) return Status(EMSGSIZE);
  if (from.length_bytes > to.length_bytes) return Status(EINVAL);
  const bool first = send_queue_.empty();
  send_queue_.push_back(
      {QueuedKind::kWrite, nullptr, 0, {from.address, from.length_bytes}, to, false, token});
  if (state_ != State::kOpen || !first) return {};
  if (send_queued() != Progress::kIdle && !is_over()) traffic_.add_busy(*this);
  return {};
}

Progress ShmLink::send_queued() {
  if (state_ != State::kOpen) return Progress::kIdle;
  std::size_t pieces = 0;
  while (!send_queue_.empty()) {
    QueuedPost& next = send_queue_.front();
    if (next.kind != QueuedKind::kWrite) {
      if (!send(next)) return is_over() ? Progress::kIdle : Progress::kBlocked;
    } else if (!next.payload.empty()) {
      const Progress progress = write_step(next, pieces);
      if (is_over()) return Progress::kIdle;
      if (!next.payload.empty()) {
        if (progress != Progress::kIdle) return progress;
        continue;
      }
      complete(CompletionKind::kWrite, {}, next.token);
    } else {
      complete(CompletionKind::kWrite, {}, next.token);
    }
    send_queue_.pop_front();
  }
  return Progress::kIdle;
}

// kIdle: a step was made, and another one may follow at once.
Progress ShmLink::write_step(QueuedPost& write, std::size_t& pieces) {
  const PeerMemory::Method method = traffic_.memory.method_for(write.to.address, write.payload.size());
  const bool directly = method == PeerMemory::Method::kMapped ||
                        (method == PeerMemory::Method::kProcess &&
                         (write.payload.size() <= kSystemCallBytes || !traffic_.channel().peer_is_awake()));
  if (directly) return write_directly(write);
  if (pieces++ == kPiecesPerStep) return Progress::kMore;
  return write_piece(write);
}

Progress ShmLink::write_directly(QueuedPost& write) {
  const PeerMemory::Moved moved = traffic_.memory.write(peer_number_, write.payload, write.to.address);
  if (moved.status == Status(EAGAIN)) return Progress::kBlocked;
  if (moved.status == Status(EOPNOTSUPP)) return Progress::kIdle;
  if (!moved.status.ok()) {
    access_failed(moved.status, "write");
    return Progress::kIdle;
  }
  write.begun = true;
  write.payload = write.payload.subspan(moved.bytes);
  write.to.address += moved.bytes;
  return Progress::kMore;
}

Progress ShmLink::write_piece(QueuedPost& write) {
  const std::span<std::byte> room = traffic_.piece_room();
  if (room.empty()) return Progress::kBlocked;
  if (!write.begun && PeerMemory::is_gone(write.payload)) {
    memory_gone();
    return Progress::kIdle;
  }
  const std::size_t bytes = std::min(room.size(), write.payload.size());
  if (!guarded_copy(room.data(), write.payload.data(), bytes)) {
    memory_gone();
    return Progress::kIdle;
  }
  const WritePiece piece{write.to.address, write.to.key, static_cast<std::uint32_t>(bytes)};
  if (!traffic_.write(RecordKind::kWritePiece, peer_number_, body_bytes(piece))) return Progress::kBlocked;
  traffic_.piece_filled();
  write.begun = true;
  write.payload = write.payload.subspan(bytes);
  write.to.address += bytes;
  return Progress::kIdle;
}

void ShmLink::on_write_piece(const WritePiece& piece, std::span<const std::byte> bytes) {
  if (bytes.empty()) return fault("a write of nothing");
  const WindowView view = windows_.find(piece.key, piece.address, bytes.size(), Access::kRemoteWrite);
  if (view.error != WindowError::kNone) return fault("a write to memory that is not open to it");
  // A full piece is one of many.
  if (bytes.size() == kPieceBytes && !is_still_mapped({view.start, bytes.size()})) return memory_gone();
  if (!guarded_copy(view.start, bytes.data(), bytes.size())) memory_gone();
}

// ---------------------------------------------------------------- reads

Status ShmLink::post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (into.length_bytes > kTransferBytesMax) return Status(EMSGSIZE);
  if (into.length_bytes > from.length_bytes) return Status(EINVAL);
  if (depths_.reads_out == 0) return Status(EOPNOTSUPP);
  if (reads_.count() >= depths_.reads_out) return Status(EAGAIN);
  PendingRead& read = reads_.push_back(
      {{into.address, into.length_bytes}, from.address, from.key, ReadState::kWaiting, {}, 0, token, 0});
  if (state_ != State::kOpen) return {};
  const Progress progress = begin_read(read);
  if (is_over()) return {};
  complete_reads();
  if (progress != Progress::kIdle) traffic_.add_busy(*this);
  return {};
}

// Earlier posts precede this one.
Status ShmLink::read_now(LocalSlice into, RemoteSlice from) noexcept try {
  const bool is_next = state_ == State::kOpen && reads_.empty() && depths_.reads_out > 0;
  const bool is_short = into.length_bytes > 0 && into.length_bytes <= std::min(from.length_bytes, kNowBytes);
  if (!is_next || !is_short || !is_read_directly(from.address, into.length_bytes)) return Status(EAGAIN);
  const auto moved = read_memory({into.address, into.length_bytes}, from.address);
  return moved.status.ok() && moved.bytes == into.length_bytes ? Status() : Status(EAGAIN);
} catch (const std::bad_alloc&) {  // to map a region of the peer
  return Status(EAGAIN);
}

bool ShmLink::is_read_directly(std::uint64_t address, std::size_t bytes) {
  const PeerMemory::Method method = traffic_.memory.method_for(address, bytes);
  if (method != PeerMemory::Method::kProcess) return method == PeerMemory::Method::kMapped;
  return bytes <= kSystemCallBytes || traffic_.read_choice.prefers_call(bytes) ||
         !traffic_.channel().peer_is_awake();
}

// A system call in place of pieces counts, by which it was chosen.
PeerMemory::Moved ShmLink::read_memory(std::span<std::byte> into, std::uint64_t address) {
  ReadChoice& choice = traffic_.read_choice;
  const auto read = [&] { return traffic_.memory.read(peer_number_, into, address); };
  const bool counts =
      into.size() > kSystemCallBytes && !is_region_address(address) && choice.prefers_call(into.size());
  if (!counts) return read();
  const std::uint64_t begun_ns = choice.begin_call(into.size());
  const PeerMemory::Moved moved = read();
  choice.end_call(into.size(), moved.bytes, begun_ns);
  return moved;
}

Progress ShmLink::begin_read(PendingRead& read) {
  if (read.into.empty()) {
    read.state = ReadState::kDone;
    return Progress::kIdle;
  }
  if (!is_read_directly(read.address, read.into.size())) return ask_for(read);
  read.state = ReadState::kDirect;
  return read_directly(read);
}

Progress ShmLink::ask_for(PendingRead& read) {
  if (!traffic_.claims.open(read.ticket)) return Progress::kBlocked;
  const ReadRequest request{read.ticket.claim, read.ticket.generation, read.key, 0,
                            read.address,      read.into.size()};
  if (!traffic_.write(RecordKind::kReadRequest, peer_number_, body_bytes(request))) {
    traffic_.claims.close(read.ticket);
    return Progress::kBlocked;
  }
  read.state = ReadState::kAsked;
  read.asked_ns = 0;
  if (traffic_.read_choice.begin_pieces(read.into.size())) read.timed_bytes = read.into.size();
  if (PeerMemory::is_gone(read.into)) {  // looked at while the peer copies
    memory_gone();
    return Progress::kIdle;
  }
  return await_answer(read);
}

Progress ShmLink::await_answer(PendingRead& read) {
  if (traffic_.claims.has_begun(read.ticket)) {
    read.state = ReadState::kServed;
    return Progress::kIdle;
  }
  if (traffic_.memory.method_for(read.address, read.into.size()) == PeerMemory::Method::kNone) {
    read.state = ReadState::kServed;  // will be: there is no other way
    return Progress::kIdle;
  }
  if (read.asked_ns == 0) read.asked_ns = context_.now_ns;
  const bool patient = traffic_.channel().peer_is_awake() && context_.now_ns - read.asked_ns < kAnswerLimitNs;
  if (patient) return Progress::kMore;
  if (!traffic_.claims.take_back(read.ticket)) return Progress::kMore;  // it has begun just now
  read.state = ReadState::kDirect;
  return read_directly(read);
}

Progress ShmLink::read_directly(PendingRead& read) {
  const PeerMemory::Moved moved = read_memory(read.into, read.address);
  if (moved.status == Status(EAGAIN)) return Progress::kBlocked;
  if (moved.status == Status(EOPNOTSUPP)) {
    read.state = ReadState::kWaiting;
    return Progress::kMore;
  }
  if (!moved.status.ok()) {
    access_failed(moved.status, "read");
    return Progress::kIdle;
  }
  ++context_.arrivals;
  read.into = read.into.subspan(moved.bytes);
  read.address += moved.bytes;
  if (!read.into.empty()) return Progress::kMore;
  end_timing(read, read.timed_bytes);
  read.state = ReadState::kDone;
  return Progress::kIdle;
}

Progress ShmLink::read_steps() {
  if (state_ != State::kOpen) return Progress::kIdle;
  Progress progress = Progress::kIdle;
  bool moved = false;  // one access at a time
  for (std::size_t i = 0; i < reads_.count(); ++i) {
    PendingRead& read = reads_[i];
    Progress step = Progress::kIdle;
    if (read.state == ReadState::kAsked) {
      step = await_answer(read);
    } else if (read.state == ReadState::kWaiting || read.state == ReadState::kDirect) {
      if (moved) {
        progress = Progress::kMore;
        break;
      }
      step = read.state == ReadState::kWaiting ? begin_read(read) : read_directly(read);
      moved = read.state == ReadState::kDirect || read.state == ReadState::kDone;
    }
    if (is_over()) return Progress::kIdle;
    progress = std::max(progress, step);
    if (step == Progress::kBlocked) break;  // those behind would wait for the same
  }
  complete_reads();
  return progress;
}

void ShmLink::end_timing(PendingRead& read, std::size_t bytes_moved) {
  if (read.timed_bytes != 0) traffic_.read_choice.end_pieces(read.timed_bytes, bytes_moved);
  read.timed_bytes = 0;
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
    if (read.ticket.claim == piece.claim && read.ticket.generation == piece.generation) return &read;
  }
  return nullptr;
}

void ShmLink::on_read_piece(const ReadPiece& piece, std::span<const std::byte> bytes) {
  PendingRead* const read = find_read(piece);
  if (read == nullptr || bytes.empty() || bytes.size() > read->into.size()) {
    return fault("an answer that nobody asked for");
  }
  // An honest peer claims a read before it answers; from then on the read cannot be taken back.
  if (read->state == ReadState::kAsked && !traffic_.claims.has_begun(read->ticket)) {
    return fault("an answer that was not begun");
  }
  read->state = ReadState::kServed;
  if (!guarded_copy(read->into.data(), bytes.data(), bytes.size())) return memory_gone();
  read->into = read->into.subspan(bytes.size());
  read->address += bytes.size();
  if (!read->into.empty()) return;
  traffic_.claims.close(read->ticket);
  end_timing(*read, read->timed_bytes);
  read->state = ReadState::kDone;
  complete_reads();
}

void ShmLink::access_failed(Status status, const char* what) {
  if (status.error() == EFAULT) return memory_gone();
  // A peer that has gone is no news: the connection ends with that.
  const LogLevel level = status.error() == ECONNRESET ? LogLevel::kDebug : LogLevel::kWarn;
  log(level, "shm: a {} of process {}'s memory failed: {}", what, traffic_.channel().peer_pid(),
      std::strerror(status.error()));
  end(status, Ending::kLost);
}

// ---------------------------------------------------------------- reads of the peer

void ShmLink::on_read_request(const ReadRequest& request) {
  if (request.length_bytes == 0 || request.length_bytes > kTransferBytesMax) {
    return fault("a read of nothing, or of too much");
  }
  const WindowView view =
      windows_.find(request.key, request.address, request.length_bytes, Access::kRemoteRead);
  if (view.error != WindowError::kNone) return fault("a read of memory that is not open to it");
  if (served_reads_.count() >= depths_.reads_in) return fault("more reads at once than agreed");
  if (PeerMemory::is_gone({view.start, request.length_bytes})) return memory_gone();
  const Claims::Ticket ticket{request.claim, request.generation};
  if (!Claims::begin(traffic_.channel().peer_segment(), ticket)) return;  // the peer did it by itself
  windows_.begin_serving(request.key);
  served_reads_.push_back({ticket, request.key, {view.start, request.length_bytes}});
  traffic_.add_busy(*this);
}

Progress ShmLink::serve_reads() {
  for (std::size_t pieces = 0; !served_reads_.empty(); ++pieces) {
    if (pieces == kPiecesPerStep) return Progress::kMore;
    ServedRead& served = served_reads_.front();
    const std::span<std::byte> room = traffic_.piece_room();
    if (room.empty()) return Progress::kBlocked;
    const std::size_t bytes = std::min(room.size(), served.source.size());
    if (!guarded_copy(room.data(), served.source.data(), bytes)) {
      memory_gone();
      return Progress::kIdle;
    }
    const ReadPiece piece{served.ticket.claim, served.ticket.generation, static_cast<std::uint32_t>(bytes)};
    if (!traffic_.write(RecordKind::kReadPiece, peer_number_, body_bytes(piece))) return Progress::kBlocked;
    traffic_.piece_filled();
    served.source = served.source.subspan(bytes);
    if (!served.source.empty()) continue;
    windows_.end_serving(served.key);
    served_reads_.pop_front();
  }
  return Progress::kIdle;
}

}  // namespace exs::shm
