#include "src/proto/message_receive.h"

#include <algorithm>

#include "src/base/log.h"
#include "src/proto/immediate.h"
#include "src/proto/pieces.h"
#include "src/wire/codec.h"

namespace exs::proto {

using wire::AckStatus;
using wire::MessageType;

namespace {

// Takes the next message as it comes.
bool is_plain(const Operation& receive) {
  return !receive.persistent && !receive.at_offset;
}

}  // namespace

MessageReceives::MessageReceives(Link& link, Slots& slots, Credits& credits, Counters& counters,
                                 const Agreement& agreement, std::uint64_t chunk_bytes,
                                 std::uint32_t first_sequence)
    : slots_(slots),
      credits_(credits),
      counters_(counters),
      small_bytes_(agreement.small_bytes),
      reads_(link, counters, agreement.reads_out, chunk_bytes),
      next_sequence_(first_sequence),
      block_(link, counters, Direction::kReceive),
      peer_window_(Direction::kReceive) {}

bool MessageReceives::post(const Operation& operation) {
  int error = 0;
  const bool is_owned = open_persistent_ > 0 || (block_.is_open() && !block_.is_revoked());
  if (operation.persistent && !operation.vector.empty()) {
    error = EINVAL;
  } else if (is_owned || (operation.persistent && peer_window_.stands())) {
    error = EBUSY;
  }
  if (state_ == State::kStopped || error != 0) {
    end_operation(operation, state_ == State::kStopped ? stop_outcome_ : Outcome{error, 0, 0});
    return true;
  }
  if (operation.persistent) ++open_persistent_;
  open_.append() = operation;
  return state_ != State::kOpen || !waiting_.empty() || block_.is_open() || operation.persistent ||
         operation.at_offset;
}

Status MessageReceives::arrived(const wire::Message& message, std::uint64_t slot,
                                std::uint32_t message_bytes) {
  const std::uint32_t sequence = message.header.sequence;
  const bool is_immediate = message.header.type == MessageType::kImmediate;
  if (sequence != next_sequence_) {
    log(LogLevel::kWarn, "protocol error: data message %u came, expected %u", sequence, next_sequence_);
    return Status(EPROTO);
  }
  if (is_immediate && message.payload_bytes > small_bytes_) {
    log(LogLevel::kWarn, "protocol error: immediate of %u bytes, %u agreed", message.payload_bytes,
        small_bytes_);
    return Status(EPROTO);
  }
  if (peer_window_.is_held()) {
    log(LogLevel::kWarn, "protocol error: data message %u behind the persistent %u", sequence,
        peer_window_.id());
    return Status(EPROTO);
  }
  if (const Status status = credits_.data_arrived(); !status.ok()) return status;
  ++next_sequence_;
  offsets_cancelled_ = false;
  if (is_immediate) {
    const bool is_first = waiting_.empty() && transfers_.empty() && cancelled_.empty() && !block_.is_open();
    if (is_first && state_ == State::kOpen && !open_.empty() && is_plain(open_.front()))
      return take_directly(slot, message_bytes);
    ++immediates_held_;
    Incoming& incoming = waiting_.push_back({});
    incoming.source = Source::kImmediate;
    incoming.slot = slot;
    incoming.message_bytes = message_bytes;
    return {};
  }

  ++counters_.adverts_received;
  const wire::Advert& advert = message.advert;
  const std::uint8_t flags = message.header.flags;
  Incoming incoming;
  incoming.source = Source::kAdvert;
  incoming.sequence = sequence;
  incoming.at_offset = (flags & wire::kAtOffset) != 0;
  incoming.window = {advert.address, advert.length_bytes, advert.key};
  incoming.length_bytes = advert.length_bytes;
  incoming.target_offset = message.target_offset;
  if ((flags & wire::kPersistent) != 0) {
    incoming.busy = owns_direction();
    if (!incoming.busy && state_ != State::kStopped) incoming.source = Source::kWindow;
  }
  if (incoming.source == Source::kWindow) {
    peer_window_.take_in(message);
    credits_.owe();
  } else {
    if ((flags & wire::kPersistent) != 0) peer_window_.turned_away(sequence);
    ++adverts_held_;
  }
  if ((flags & wire::kList) == 0) {
    waiting_.push_back(incoming);
    return slots_.free(slot);
  }
  incoming.slot = slot;
  incoming.message_bytes = message_bytes;
  incoming.list_bytes = message.payload_bytes;
  const auto list = slots_.message(slot, message_bytes).last(message.payload_bytes);
  for (std::size_t i = 0; i < list.size() / wire::kListEntryBytes; ++i)
    incoming.length_bytes += wire::list_entry(list, i).length_bytes;
  waiting_.push_back(incoming);
  return {};
}

Status MessageReceives::take_directly(std::uint64_t slot, std::uint32_t message_bytes) {
  direct_outcome_ = take_immediate(slots_.message(slot, message_bytes), open_.front());
  if (const Status status = slots_.free(slot); !status.ok()) return status;
  credits_.owe();
  taken_directly_ = true;
  return {};
}

void MessageReceives::deliver_direct(OutcomeSink& sink) {
  taken_directly_ = false;
  ++counters_.receives_done;
  counters_.bytes_received += direct_outcome_.length_bytes;
  counters_.copied_bytes += direct_outcome_.length_bytes;
  sink.completed(Direction::kReceive, open_.front(), direct_outcome_);
  open_.drop_front();
}

Status MessageReceives::match() {
  if (state_ == State::kStopped) return refuse_waiting();
  for (;;) {
    const Result<bool> moved = match_one();
    if (!moved) return moved.error();
    if (!*moved) break;
  }
  if (state_ != State::kPeerEnded || !waiting_.empty()) return {};
  if (block_.is_open() && !block_.is_told()) end_block({0, 0, kEndOfStream});
  if (!block_.is_open()) end_open_receives({0, 0, kEndOfStream});
  return {};
}

// False: nothing more can be done now.
Result<bool> MessageReceives::match_one() {
  if (!waiting_.empty() && waiting_.front().busy) {
    const Status status = answer(waiting_.pop_front(), AckStatus::kBusy);
    if (!status.ok()) return failure(status);
    return true;
  }
  if (block_.is_open()) return fill_block();
  if (open_.empty()) return false;
  if (open_.front().persistent) return stand_up();
  if (waiting_.empty()) {
    if (!open_.front().at_offset || !offsets_cancelled_) return false;
    end_operation(open_.pop_front(), {ECANCELED, 0, 0});
    return true;
  }
  if (waiting_.front().source == Source::kWindow) {
    read_window(open_.pop_front());
    return true;
  }
  if (waiting_.front().source == Source::kTakenBack) return match_mark();
  return match_message();
}

Result<bool> MessageReceives::match_message() {
  Status status;
  if (waiting_.front().at_offset) {
    status = answer(waiting_.pop_front(), AckStatus::kNotPersistent);
  } else if (open_.front().at_offset) {
    end_operation(open_.pop_front(), {EINVAL, 0, 0});
  } else {
    const Operation operation = open_.pop_front();
    const Incoming incoming = waiting_.pop_front();
    status = incoming.source == Source::kAdvert ? start_advert(operation, incoming, Role::kReceive)
                                                : start_immediate(operation, incoming, Role::kReceive);
  }
  if (!status.ok()) return failure(status);
  return true;
}

bool MessageReceives::match_mark() {
  const bool at_offset = open_.front().at_offset;
  const bool is_last = waiting_.count() == 1;
  if (!at_offset || is_last) end_operation(open_.pop_front(), {ECANCELED, 0, 0});
  // What the peer sent since is all a receive at an offset asks for.
  if (!at_offset || !is_last) waiting_.pop_front();
  return true;
}

bool MessageReceives::stand_up() {
  if (peer_window_.is_held()) return false;
  block_.hold(open_.pop_front());
  --open_persistent_;
  block_bytes_ = 0;
  return true;
}

Result<bool> MessageReceives::fill_block() {
  if (waiting_.empty() || block_.is_revoked() || block_reads_ > 0) return false;
  const Incoming incoming = waiting_.pop_front();
  if (incoming.source == Source::kTakenBack) return true;
  Operation target = block_.operation();
  target.offset = 0;
  Status status;
  if (incoming.source == Source::kImmediate) {
    status = start_immediate(target, incoming, Role::kBlock);
  } else if (!incoming.at_offset) {
    status = start_advert(target, incoming, Role::kBlock);
  } else {
    const std::uint64_t size = target.memory.length_bytes;
    const std::uint64_t offset = incoming.target_offset;
    if (offset > size || incoming.length_bytes > size - offset) {
      status = answer(incoming, AckStatus::kOutOfRange);
    } else {
      target.offset = offset;
      target.memory.address += offset;
      target.memory.length_bytes -= offset;
      status = start_advert(target, incoming, Role::kBlock);
    }
  }
  if (!status.ok()) return failure(status);
  return true;
}

Status MessageReceives::start_advert(const Operation& operation, const Incoming& incoming, Role role) {
  const std::uint64_t offered = incoming.length_bytes;
  const std::uint64_t taken = std::min<std::uint64_t>(offered, operation.memory.length_bytes);
  Outcome outcome{0, taken, kEndOfMessage};
  if (taken < offered) outcome.flags |= kTruncated;
  transfers_.push_back(
      {role, taken == 0, Source::kAdvert, AckStatus::kTaken, incoming.sequence, operation, outcome});
  if (role == Role::kBlock) {
    block_bytes_ += taken;
    if (taken > 0) ++block_reads_;
  }
  add_reads(operation, incoming, taken);
  return free_list(incoming);
}

void MessageReceives::add_reads(const Operation& into, const Incoming& from, std::uint64_t bytes) {
  const std::uint64_t id = first_id_ + transfers_.count() - 1;
  const auto list = from.list_bytes == 0
                        ? std::span<const std::byte>()
                        : slots_.message(from.slot, from.message_bytes).last(from.list_bytes);
  std::size_t next_window = 0;
  RemoteSlice window = from.window;
  Pieces pieces(into);
  for (std::uint64_t left = bytes; left > 0;) {
    if (window.length_bytes == 0) {
      const wire::Advert next = wire::list_entry(list, next_window++);
      window = {next.address, next.length_bytes, next.key};
    }
    const LocalSlice piece = pieces.next(std::min(left, window.length_bytes));
    left -= piece.length_bytes;
    reads_.add(id, piece, window, left == 0);
    window.address += piece.length_bytes;
    window.length_bytes -= piece.length_bytes;
  }
}

Status MessageReceives::start_immediate(const Operation& operation, const Incoming& incoming, Role role) {
  const auto message = slots_.message(incoming.slot, incoming.message_bytes);
  const Outcome outcome = take_immediate(message, operation);
  if (role == Role::kBlock) block_bytes_ += outcome.length_bytes;
  transfers_.push_back({role, true, Source::kImmediate, AckStatus::kTaken, 0, operation, outcome});
  return free_immediate(incoming);
}

void MessageReceives::read_window(const Operation& operation) {
  const std::uint64_t offset = operation.at_offset ? operation.offset : 0;
  std::uint64_t bytes = operation.memory.length_bytes;
  if (!operation.at_offset) bytes = std::min(bytes, peer_window_.length_bytes());
  const Result<RemoteSlice> part = peer_window_.part(offset, bytes);
  if (!part) return end_operation(operation, {part.error().error(), 0, 0});
  transfers_.push_back(
      {Role::kReceive, bytes == 0, Source::kWindow, AckStatus::kTaken, 0, operation, {0, bytes, 0}});
  if (bytes == 0) return peer_window_.used(0, offset);
  ++window_reads_;
  Incoming from;
  from.window = *part;
  add_reads(operation, from, bytes);
}

// The credit comes back with the slot, whatever became of the payload.
Status MessageReceives::free_immediate(const Incoming& incoming) {
  if (const Status status = slots_.free(incoming.slot); !status.ok()) return status;
  --immediates_held_;
  credits_.owe();
  return {};
}

Status MessageReceives::free_list(const Incoming& incoming) {
  return incoming.list_bytes > 0 ? slots_.free(incoming.slot) : Status();
}

void MessageReceives::read_landed() {
  const auto id = reads_.landed();
  if (!id) return;
  Transfer& landed = transfers_[*id - first_id_];
  landed.finished = true;
  if (landed.role == Role::kBlock) --block_reads_;
  if (landed.source != Source::kWindow) return;
  --window_reads_;
  if (landed.outcome.error != 0) return;
  peer_window_.used(landed.outcome.length_bytes, landed.operation.at_offset ? landed.operation.offset : 0);
}

Status MessageReceives::told(const wire::Message& message) {
  if (message.header.type == MessageType::kRevoke) return window_revoked(message);
  Outcome outcome;
  const Status status = block_.told(message, {0, 0, kEndOfStream}, outcome);
  if (status.ok() && !block_.is_open()) end_block(outcome);
  return status;
}

Status MessageReceives::window_revoked(const wire::Message& message) {
  const Result<bool> revoked = peer_window_.revoked(message);
  if (!revoked) return revoked.error();
  if (!*revoked) return {};
  bool told = false;
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    Transfer& transfer = transfers_[i];
    if (transfer.source != Source::kWindow || transfer.finished) continue;
    told = true;
    transfer.outcome = {ECANCELED, 0, 0};
    if (reads_.abandon(first_id_ + i)) continue;
    transfer.finished = true;
    --window_reads_;
  }
  offsets_cancelled_ = true;
  // Nothing comes behind a window, so it is the last one.
  waiting_.back().source = Source::kTakenBack;
  const bool marked_before =
      waiting_.count() > 1 && waiting_[waiting_.count() - 2].source == Source::kTakenBack;
  if (told || marked_before) waiting_.pop_back();
  return {};
}

Cancelled MessageReceives::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    const Transfer& transfer = transfers_[i];
    const bool is_open = transfer.role == Role::kReceive && !transfer.finished;
    if (!is_open || !selection.matches(transfer.operation)) continue;
    ++cancelled.matched;
    ++cancelled.begun;
  }
  if (block_.is_open() && selection.matches(block_.operation())) {
    ++cancelled.matched;
    if (block_.is_told()) ++cancelled.begun;
    take_back_block(error);
  }
  for (std::size_t left = open_.count(); left > 0; --left) {
    const Operation operation = open_.pop_front();
    if (!selection.matches(operation)) {
      open_.push_back(operation);
      continue;
    }
    ++cancelled.matched;
    if (operation.persistent) --open_persistent_;
    cancelled_.push_back({operation, {error, 0, 0}});
  }
  return cancelled;
}

void MessageReceives::revoke() {
  if (block_.is_open()) take_back_block(ECANCELED);
  for (std::size_t left = open_.count(); left > 0; --left) {
    const Operation operation = open_.pop_front();
    if (operation.persistent) {
      --open_persistent_;
      end_operation(operation, {ECANCELED, 0, 0});
    } else {
      open_.push_back(operation);
    }
  }
}

void MessageReceives::take_back_block(int error) {
  if (block_.is_told()) {
    block_.revoke(error);
  } else {
    end_block({error, 0, 0});
  }
}

// Behind the messages that are still being put into it.
void MessageReceives::end_block(Outcome outcome) {
  block_.forget();
  outcome.length_bytes += block_bytes_;
  end_operation(block_.operation(), outcome);
}

void MessageReceives::end_operation(const Operation& operation, const Outcome& outcome) {
  transfers_.push_back({Role::kReceive, true, Source::kNothing, AckStatus::kTaken, 0, operation, outcome});
}

std::uint64_t MessageReceives::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    const Operation& operation = transfers_[i].operation;
    if (transfers_[i].role == Role::kReceive && !operation.persistent && operation.posted_ns != 0)
      return operation.posted_ns;
  }
  for (std::size_t i = 0; i < open_.count(); ++i) {
    if (!open_[i].persistent && open_[i].posted_ns != 0) return open_[i].posted_ns;
  }
  return UINT64_MAX;
}

void MessageReceives::peer_ended() {
  if (state_ == State::kOpen) state_ = State::kPeerEnded;
}

void MessageReceives::stop(const Outcome& outcome) {
  if (state_ == State::kStopped) return;
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  end_open_receives(outcome);
}

void MessageReceives::end_open_receives(const Outcome& outcome) {
  while (!open_.empty()) end_operation(open_.pop_front(), outcome);
  open_persistent_ = 0;
}

// An advert not taken has its answer behind the transfers under way, because ACKs go in the order of adverts.
Status MessageReceives::answer(const Incoming& advert, AckStatus status) {
  transfers_.push_back({Role::kAnswer, true, Source::kAdvert, status, advert.sequence, {}, {}});
  return free_list(advert);
}

Status MessageReceives::refuse_waiting() {
  while (!waiting_.empty()) {
    const Incoming incoming = waiting_.pop_front();
    Status status;
    if (incoming.source == Source::kAdvert) {
      status = answer(incoming, incoming.busy ? AckStatus::kBusy : AckStatus::kRefused);
    } else if (incoming.source == Source::kImmediate) {
      status = free_immediate(incoming);
    } else if (incoming.source == Source::kWindow) {
      peer_window_.let_go();
    }
    if (!status.ok()) return status;
  }
  return {};
}

void MessageReceives::fail_all(int error) {
  const Outcome outcome{error, 0, 0};
  taken_directly_ = false;
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    transfers_[i].finished = true;
    transfers_[i].source = Source::kNothing;
    transfers_[i].outcome = outcome;
  }
  waiting_.clear();
  if (block_.is_open()) end_block(outcome);
  peer_window_.forget();
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  end_open_receives(outcome);
}

void MessageReceives::deliver(OutcomeSink& sink) {
  if (taken_directly_) deliver_direct(sink);
  block_.deliver(sink);
  while (!cancelled_.empty()) {
    const Ended ended = cancelled_.pop_front();
    sink.completed(Direction::kReceive, ended.operation, ended.outcome);
  }
  while (!transfers_.empty() && transfers_.front().finished) {
    const Transfer ended = transfers_.pop_front();
    ++first_id_;
    const std::uint64_t bytes = ended.outcome.length_bytes;
    if (ended.source == Source::kAdvert) acks_.push_back({ended.sequence, {ended.answer, bytes}});
    if (ended.role == Role::kAnswer) continue;
    count(ended);
    if (ended.role == Role::kReceive) {
      sink.completed(Direction::kReceive, ended.operation, ended.outcome);
    } else if (ended.operation.notify && ended.source != Source::kNothing) {
      sink.used(Direction::kReceive, ended.operation, {bytes, 1, ended.operation.offset});
    }
  }
}

void MessageReceives::count(const Transfer& ended) {
  if (ended.source == Source::kNothing || ended.outcome.error != 0) return;
  const std::uint64_t bytes = ended.outcome.length_bytes;
  ++counters_.receives_done;
  counters_.bytes_received += bytes;
  (ended.source == Source::kImmediate ? counters_.copied_bytes : counters_.direct_bytes) += bytes;
}

Status MessageReceives::send_answers(Outbox& outbox) {
  while (!acks_.empty() && outbox.has_room()) {
    wire::Message message;
    message.header.type = MessageType::kAck;
    message.header.sequence = acks_.front().sequence;
    message.ack = acks_.front().ack;
    // An advert's credit must not overtake its ACK: the peer has slots for one ACK per credit.
    credits_.owe();
    --adverts_held_;
    if (const Status status = outbox.send(message); !status.ok()) return status;
    acks_.pop_front();
  }
  if (block_.revoke_is_due() && outbox.has_room()) return block_.send_revoke(outbox);
  if (!block_.is_open() || block_.is_told() || state_ != State::kOpen || !outbox.has_room()) return {};
  if (const Status status = block_.expose(); !status.ok()) {
    if (status.error() == ENOTCONN) return status;
    end_block({status.error(), 0, 0});
    return {};
  }
  return block_.send_offer(outbox);
}

Status MessageReceives::send_notices(Outbox& outbox) {
  if (peer_window_.is_let_go() && window_reads_ == 0 && outbox.has_room())
    return peer_window_.send_release(outbox);
  if (peer_window_.notice_is_due() && credits_.available() > 0 && outbox.has_room())
    return peer_window_.send_notice(outbox, credits_);
  return {};
}

}  // namespace exs::proto
