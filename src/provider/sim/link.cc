// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/sim/link.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/guarded_copy.h"
#include "src/log/log.h"
#include "src/provider/sim/port.h"

namespace exs::sim {
namespace {

// What can always come to a link: the answer to a connect, the end of the peer, and a loss.
constexpr std::size_t kEndings = 3;

std::vector<std::byte> joined(std::span<const std::byte> header, LocalSlice payload) {
  std::vector<std::byte> bytes(header.size() + payload.length_bytes);
  std::copy(header.begin(), header.end(), bytes.begin());
  if (payload.length_bytes > 0)
    copy_of_program(bytes.data() + header.size(), payload.address, payload.length_bytes);
  return bytes;
}

}  // namespace

SimLink::SimLink(SimPort& port, Side side, const AddressPair& ends, const LinkDepths& depths,
                 std::uint64_t token)
    : network_(port.network()),
      port_(port),
      id_(port.draw_id()),
      token_(token),
      side_(side),
      ends_(ends),
      depths_(depths),
      completions_(port.completions().make_source()),
      state_(side == Side::kInitiator ? State::kConnecting : State::kReplying),
      windows_(port.draw_window_key()) {
  LockGuard guard(network_.mutex);
  port_.events().keep(kEndings);
  try {
    network_.add(*this);
  } catch (...) {
    port_.events().keep_no_more(kEndings);
    throw;
  }
}

SimLink::~SimLink() {
  close();
  LockGuard guard(network_.mutex);
  network_.remove(*this);
  port_.events().remove_all_of(id_);
  port_.events().keep_no_more(kEndings);
  port_.forget(*this);
}

bool SimLink::addresses(sockaddr_storage& ours, sockaddr_storage& peers) const noexcept {
  ours = ends_.ours;
  peers = ends_.peers;
  return true;
}

std::uint16_t SimLink::service() const noexcept {
  return port_number(side_ == Side::kInitiator ? ends_.peers : ends_.ours);
}

void SimLink::delay_own(std::uint64_t until_ns) noexcept {
  last_left_ns_ = std::max(last_left_ns_, until_ns);
  last_read_ns_ = std::max(last_read_ns_, until_ns);
}

SimLink* SimLink::peer() {
  SimLink* const found = network_.link(peer_id_);
  const bool is_there = found != nullptr && !found->is_lost_ &&
                        (found->state_ == State::kOpen || found->state_ == State::kConnecting);
  return is_there ? found : nullptr;
}

// ---------------------------------------------------------------- posts

// A post by an end whose answer waits for the next flush takes the answer along.
Status SimLink::admit() {
  if (state_ == State::kReplying) port_.reply_now(*this);
  if (state_ != State::kOpen) return Status(ENOTCONN);
  network_.need_memory();
  return Status();
}

Status SimLink::post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) {
  LockGuard guard(network_.mutex);
  if (const Status status = admit(); !status.ok()) return status;
  if (sends_out_ >= depths_.sends) return Status(EAGAIN);
  if (header.size() + payload.length_bytes > UINT32_MAX) return Status(EMSGSIZE);
  const Posted posted{CompletionKind::kSend, token};
  const Status status = send(EventKind::kMessage, joined(header, payload), {}, &posted);
  if (status.ok()) ++sends_out_;
  return status;
}

Status SimLink::send_now(std::span<const std::byte> header, LocalSlice payload) noexcept try {
  LockGuard guard(network_.mutex);
  if (state_ != State::kOpen || network_.is_late()) return Status(EAGAIN);
  return send(EventKind::kMessage, joined(header, payload), {}, nullptr);
} catch (const std::bad_alloc&) {
  return Status(EAGAIN);
}

Status SimLink::post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  LockGuard guard(network_.mutex);
  if (const Status status = admit(); !status.ok()) return status;
  if (from.length_bytes > to.length_bytes) return Status(EINVAL);
  to.length_bytes = from.length_bytes;
  const Posted posted{CompletionKind::kWrite, token};
  return send(EventKind::kWrite, joined({}, from), to, &posted);
}

// A peer that is gone is no cause to fail: its end is under way.
Status SimLink::send(EventKind kind, std::vector<std::byte> bytes, RemoteSlice to, const Posted* posted) {
  posted_.reserve(posted_.count() + 1);
  port_.events().make_room(1);
  if (SimLink* const other = peer()) {
    other->port_.events().make_room(1);
    Event event{kind, other->id_};
    event.due_ns = network_.due_after(other->last_arrival_ns_);
    event.bytes = std::move(bytes);
    event.to = to;
    network_.schedule(other->port_, std::move(event));
  }
  if (posted == nullptr) return Status();
  posted_.push_back(*posted);
  Event left{EventKind::kLeft, id_};
  left.due_ns = network_.due_after(network_.settings.reorder ? last_left_ns_ : last_read_ns_);
  network_.schedule(port_, std::move(left));
  return Status();
}

std::uint64_t SimLink::round_trip_ns() const noexcept {
  return network_.settings.delay_min_ns + network_.settings.delay_max_ns;
}

Status SimLink::post_recv(LocalSlice into, std::uint64_t token) {
  LockGuard guard(network_.mutex);
  if (state_ != State::kOpen && state_ != State::kReplying && state_ != State::kConnecting)
    return Status(ENOTCONN);
  if (receives_.count() >= depths_.receives) return Status(EAGAIN);
  network_.need_memory();
  receives_.push({{into.address, into.length_bytes}, token});
  return Status();
}

Status SimLink::post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  LockGuard guard(network_.mutex);
  if (const Status status = admit(); !status.ok()) return status;
  if (reads_.count() >= depths_.reads_out) return Status(EAGAIN);
  if (into.length_bytes > from.length_bytes) return Status(EINVAL);
  reads_.reserve(reads_.count() + 1);
  port_.events().make_room(2);
  reads_.push_back({into, from, token, ++reads_posted_});
  if (into.length_bytes > 1 && network_.comes_in_pieces()) {
    Event piece{EventKind::kPiece, id_};
    piece.due_ns = network_.due_after(last_read_ns_);
    piece.to = {reads_posted_, 1 + network_.draw_below(into.length_bytes - 1), 0};
    network_.schedule(port_, std::move(piece));
  }
  Event read{EventKind::kRead, id_};
  read.due_ns = network_.due_after(last_read_ns_);
  network_.schedule(port_, std::move(read));
  return Status();
}

Status SimLink::read_now(LocalSlice into, RemoteSlice from) noexcept try {
  LockGuard guard(network_.mutex);
  SimLink* const other = peer();
  if (state_ != State::kOpen || other == nullptr || into.length_bytes > from.length_bytes ||
      network_.is_late())
    return Status(EAGAIN);
  if (into.length_bytes == 0) return Status();
  const WindowView view =
      other->windows_.find(from.key, from.address, into.length_bytes, Access::kRemoteRead);
  if (view.error != WindowError::kNone) return Status(EAGAIN);
  copy_of_program(into.address, view.start, into.length_bytes);
  return Status();
} catch (const std::bad_alloc&) {  // the memory is gone
  return Status(EAGAIN);
}

// ---------------------------------------------------------------- windows

Result<RemoteSlice> SimLink::expose(LocalSlice memory, Access access) {
  LockGuard guard(network_.mutex);
  if (state_ == State::kEnded || state_ == State::kClosed) return failure(ENOTCONN);
  network_.need_memory();
  const auto key = windows_.open({memory.address, memory.length_bytes}, access);
  if (!key) return failure(key.error());
  return RemoteSlice{0, memory.length_bytes, *key};
}

Status SimLink::withdraw(std::uint32_t key) {
  LockGuard guard(network_.mutex);
  if (state_ == State::kEnded || state_ == State::kClosed) return {};  // every window was shut with the link
  return windows_.close(key);
}

// ---------------------------------------------------------------- what happens

bool SimLink::shows_messages() const noexcept {
  return taker_ != nullptr && state_ == State::kOpen && !is_lost_ && completions_->waiting == 0;
}

void SimLink::out_of_memory() noexcept {
  network_.mutex.assert_held();
  finish(Status(ENOMEM));
}

void SimLink::happen(Event& event) {
  network_.mutex.assert_held();
  const bool is_ending = event.kind == EventKind::kEnd || event.kind == EventKind::kLost;
  if (is_ending) return finish(event.kind == EventKind::kLost ? event.status : Status());
  if (is_lost_) return;
  switch (event.kind) {
    case EventKind::kMessage: return place(event);
    case EventKind::kWrite: return write_here(event);
    case EventKind::kLeft: return complete_oldest();
    case EventKind::kPiece: return read_piece(event);
    case EventKind::kRead: return finish_read();
    case EventKind::kEstablished: return established(std::move(event.bytes));
    case EventKind::kRefused: return refused(std::move(event.bytes));
    default: return;
  }
}

void SimLink::push(CompletionKind kind, std::uint64_t token, std::uint32_t length_bytes) {
  port_.completions().push(*completions_, {kind, Status(), length_bytes, token_, token});
}

// The sender counts the receives of its peer as credits, so none can be missing.
void SimLink::place(const Event& message) {
  if (state_ != State::kOpen) return;
  if (receives_.empty()) {
    log(LogLevel::kError, "sim: a message of {} bytes found no receive: credits were spent twice",
        message.bytes.size());
    return network_.lose(*this, Status(ENOBUFS));
  }
  const PostedReceive receive = receives_.last();
  if (receive.memory.size() < message.bytes.size()) return network_.lose(*this, Status(EMSGSIZE));
  port_.completions().make_room();
  std::copy(message.bytes.begin(), message.bytes.end(), receive.memory.begin());
  receives_.pop();
  push(CompletionKind::kReceive, receive.token, static_cast<std::uint32_t>(message.bytes.size()));
}

void SimLink::write_here(const Event& write) {
  if (state_ != State::kOpen || write.bytes.empty()) return;
  const WindowView view =
      windows_.find(write.to.key, write.to.address, write.bytes.size(), Access::kRemoteWrite);
  if (view.error != WindowError::kNone) return network_.lose(*this, Status(EACCES));
  if (!guarded_copy(view.start, write.bytes.data(), write.bytes.size())) network_.lose(*this, Status(EFAULT));
}

void SimLink::complete_oldest() {
  if (state_ != State::kOpen || posted_.empty()) return;
  port_.completions().make_room();
  const Posted oldest = posted_.pop_front();
  if (oldest.kind == CompletionKind::kSend) --sends_out_;
  push(oldest.kind, oldest.token);
}

// Without a peer the read waits for the end that is under way.
bool SimLink::copy_read(const Read& read, std::uint64_t bytes) {
  SimLink* const other = peer();
  if (other == nullptr) return false;
  if (bytes == 0) return true;
  const WindowView view = other->windows_.find(read.from.key, read.from.address, bytes, Access::kRemoteRead);
  if (view.error == WindowError::kNone && guarded_copy(read.into.address, view.start, bytes)) return true;
  network_.lose(*this, Status(view.error == WindowError::kNone ? EFAULT : EACCES));
  return false;
}

void SimLink::read_piece(const Event& piece) {
  if (state_ != State::kOpen) return;
  for (std::size_t i = 0; i < reads_.count(); ++i) {
    if (reads_[i].number == piece.to.address) {
      copy_read(reads_[i], piece.to.length_bytes);
      return;
    }
  }
}

void SimLink::finish_read() {
  if (state_ != State::kOpen || reads_.empty()) return;
  port_.completions().make_room();
  if (!copy_read(reads_.front(), reads_.front().into.length_bytes)) return;
  push(CompletionKind::kRead, reads_.pop_front().token);
}

// ---------------------------------------------------------------- beginning and end

void SimLink::reply(Event answer) {
  network_.mutex.assert_held();
  SimLink* const other = network_.link(peer_id_);
  state_ = State::kOpen;
  if (other == nullptr || other->is_lost_) return lose(Status(ECONNRESET));
  answer.due_ns = network_.due_after(other->last_arrival_ns_);
  network_.schedule(other->port_, std::move(answer));
  push(CompletionKind::kEstablished, 0);
}

void SimLink::established(std::vector<std::byte> private_data) {
  if (state_ != State::kConnecting) return;
  port_.completions().make_room();
  private_data_ = std::move(private_data);
  state_ = State::kOpen;
  push(CompletionKind::kEstablished, 0);
}

void SimLink::refused(std::vector<std::byte> private_data) noexcept {
  if (state_ != State::kConnecting) return;
  private_data_ = std::move(private_data);
  finish(Status(ECONNREFUSED));
}

void SimLink::lose(Status why) noexcept {
  network_.mutex.assert_held();
  if (is_lost_ || state_ == State::kClosed || state_ == State::kEnded) return;
  is_lost_ = true;
  Event lost{EventKind::kLost, id_};
  lost.due_ns = network_.now_ns() + network_.delay_ns();
  lost.status = why;
  network_.schedule(port_, std::move(lost));
}

void SimLink::finish(Status why) noexcept {
  if (state_ == State::kClosed || state_ == State::kEnded) return;
  end_posts(why.ok() ? Status(ECONNRESET) : why);
  if (state_ == State::kConnecting && why.ok()) why = Status(ECONNRESET);
  state_ = State::kEnded;
  port_.completions().push_last(*completions_, {CompletionKind::kDisconnected, why, 0, token_, 0});
}

void SimLink::end_posts(Status why) noexcept {
  const auto end = [&](CompletionKind kind, std::uint64_t token) {
    port_.completions().push_if_room(*completions_, {kind, why, 0, token_, token});
  };
  receives_.for_each([&](const PostedReceive& receive) { end(CompletionKind::kReceive, receive.token); });
  receives_.clear();
  while (!posted_.empty()) {
    const Posted oldest = posted_.pop_front();
    end(oldest.kind, oldest.token);
  }
  while (!reads_.empty()) end(CompletionKind::kRead, reads_.pop_front().token);
  windows_.clear();
}

void SimLink::close() noexcept {
  LockGuard guard(network_.mutex);
  if (state_ == State::kClosed) return;
  end_posts(Status(ECANCELED));
  state_ = State::kClosed;
  port_.forget(*this);
  SimLink* const other = network_.link(peer_id_);
  if (other == nullptr || other->state_ == State::kClosed || other->state_ == State::kEnded) return;
  Event end{EventKind::kEnd, other->id_};
  end.due_ns = network_.due_after(other->last_arrival_ns_);
  network_.schedule(other->port_, std::move(end));
}

}  // namespace exs::sim
