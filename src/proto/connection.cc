// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/connection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/contain.h"
#include "src/log/log.h"
#include "src/proto/message/message_receive.h"
#include "src/proto/message/message_send.h"
#include "src/proto/message_kinds.h"
#include "src/proto/stream/stream_receive.h"
#include "src/proto/stream/stream_send.h"
#include "src/proto/tagged/tagged_receive.h"
#include "src/proto/tagged/tagged_send.h"
#include "src/proto/token.h"
#include "src/wire/codec.h"

namespace exs::proto {

using wire::MessageType;

std::unique_ptr<SendSide> Connection::make_sends(const Tuning& tuning) {
  switch (agreement_.kind) {
    case SocketKind::kStream:
      return std::make_unique<StreamSends>(path_.link, outbox_, path_.credits, path_.counters, agreement_,
                                           tuning.first_sequence);
    case SocketKind::kTagged:
      return std::make_unique<TaggedSends>(path_.link, outbox_, path_.credits, eager_, path_.counters,
                                           agreement_, tuning.first_sequence);
    case SocketKind::kMessage: break;
  }
  return std::make_unique<MessageSends>(path_, outbox_, agreement_, tuning.read_chunk_bytes);
}

std::unique_ptr<ReceiveSide> Connection::make_receives(const Tuning& tuning, Inbox* inbox) {
  switch (agreement_.kind) {
    case SocketKind::kStream:
      return std::make_unique<StreamReceives>(path_.link, slots_, path_.credits, path_.counters, agreement_,
                                              tuning.read_chunk_bytes, tuning.first_sequence);
    case SocketKind::kTagged:
      return std::make_unique<TaggedReceives>(path_.link, slots_, path_.credits, eager_, path_.counters,
                                              agreement_, *inbox, tuning.read_chunk_bytes,
                                              tuning.first_sequence);
    case SocketKind::kMessage: break;
  }
  return std::make_unique<MessageReceives>(path_, slots_, agreement_, tuning.read_chunk_bytes);
}

Connection::Connection(Role role, const Agreement& agreement, Link& link, OutcomeSink& sink,
                       Counters& counters, const Tuning& tuning, Inbox* inbox)
    : path_(agreement, link, tuning.first_sequence, counters),
      role_(role),
      agreement_(agreement),
      sink_(sink),
      slots_(agreement, link),
      outbox_(link, path_.credits, path_.counters, link_depths(agreement).sends),
      growth_(agreement),
      eager_(agreement.tagged.eager_bytes_out, agreement.tagged.eager_bytes_in),
      sends_(make_sends(tuning)),
      receives_(make_receives(tuning, inbox)) {}

MessageSends& Connection::message_sends() const noexcept {
  return static_cast<MessageSends&>(*sends_);
}

MessageReceives& Connection::message_receives() const noexcept {
  return static_cast<MessageReceives&>(*receives_);
}

TaggedSends& Connection::tagged_sends() const noexcept {
  return static_cast<TaggedSends&>(*sends_);
}

TaggedReceives& Connection::tagged_receives() const noexcept {
  return static_cast<TaggedReceives&>(*receives_);
}

Status Connection::start() {
  if (const Status status = slots_.post_all(); !status.ok()) return status;
  if (role_ == Role::kResponder) {
    state_ = State::kAwaitingReady;
    return {};
  }
  if (const Status status = outbox_.send(MessageType::kReady); !status.ok()) return status;
  state_ = State::kOpen;
  sink_.ready();
  settle({});
  return {};
}

bool Connection::send_now(const Operation& operation) {
  if (!is_steady() || !sends_->send_now(operation)) return false;
  outbox_.end_step();
  return true;
}

ShortSend Connection::send_short(const Label& label, LocalSlice payload) noexcept {
  return sends_short() ? tagged_sends().send_short(label, payload) : ShortSend::kNot;
}

bool Connection::may_send_short() const noexcept {
  if (is_tagged()) return is_steady() && tagged_sends().may_send_short();
  return agreement_.kind == SocketKind::kMessage && is_steady() && message_sends().may_send_short();
}

bool Connection::may_take_short() const noexcept {
  if (is_tagged()) return is_steady() && tagged_sends().all_sent();
  return agreement_.kind == SocketKind::kMessage && is_steady() && sends_->all_sent() &&
         message_receives().is_plain_and_quiet();
}

void Connection::return_credits() {
  if (const Status status = outbox_.return_credits(false); !status.ok()) settle(status);
}

bool Connection::read_now(const Operation& operation, Outcome& outcome) {
  return state_ == State::kOpen && receives_->read_now(operation, outcome);
}

PostState Connection::post_send(const Operation& operation) {
  if (send_now(operation)) {
    sink_.completed(Direction::kSend, operation, sent_immediate(operation));
    return PostState::kStarted;
  }
  forget_quiet();
  try {
    sends_->post(operation);
  } catch (const std::bad_alloc&) {
    return PostState::kNoMemory;
  }
  if (is_steady()) {
    send_steadily();
  } else {
    settle({});
  }
  return PostState::kStarted;
}

void Connection::send_steadily() {
  if (const Status status = sends_->transmit(); !status.ok()) return settle(status);
  if (sends_->stalled()) return settle({});  // which may ask for more credits
  sends_->deliver(sink_);
  outbox_.end_step();
}

PostState Connection::post_receive(const Operation& operation) {
  if (Outcome outcome; may_read_now() && read_now(operation, outcome)) {
    sink_.completed(Direction::kReceive, operation, outcome);
    return PostState::kStarted;
  }
  forget_quiet();
  bool something_follows = false;
  try {
    something_follows = receives_->post(operation);
  } catch (const std::bad_alloc&) {
    return PostState::kNoMemory;
  }
  if (!something_follows) return PostState::kWaiting;
  settle({});
  return PostState::kStarted;
}

bool Connection::is_steady() const noexcept {
  if (is_tagged())
    return state_ == State::kOpen && close_handshake_.is_quiet() && !tagged_receives().owes_something();
  return state_ == State::kOpen && agreement_.kind == SocketKind::kMessage && close_handshake_.is_quiet() &&
         receives_->adverts_held() == 0 && !sends_->window_held();
}

bool Connection::take(const ArrivingMessage& message) {
  if (is_tagged()) return take_tagged(message);
  if (!takes_short() || message.first_piece().size() < wire::kHeaderBytes) return false;
  std::array<std::byte, wire::kHeaderBytes> bytes;
  std::memcpy(bytes.data(), message.first_piece().data(), bytes.size());
  wire::Header header;
  if (!wire::decode_immediate(bytes, header) || !path_.credits.may_take_back(header.credits)) return false;
  if (!message_receives().take(header, message, sink_)) return false;
  Status status = path_.credits.take_back(header.credits);
  if (status.ok()) status = outbox_.return_credits(false);
  if (!status.ok()) settle(status);
  return true;
}

bool Connection::take_tagged(const ArrivingMessage& message) {
  const bool was_quiet = takes_short();
  if (!was_quiet && (state_ != State::kOpen || !close_handshake_.is_quiet())) return false;
  wire::TaggedBytes bytes;
  std::span<const std::byte> start(bytes);
  if (const auto first = message.first_piece(); first.size() >= bytes.size()) {
    std::memcpy(bytes.data(), first.data(), bytes.size());
  } else {
    start = start.first(std::min(bytes.size(), message.length_bytes()));
    message.copy(0, std::span(bytes).first(start.size()));
  }
  wire::TaggedHead head;
  if (!wire::decode_tagged(start, head)) return take_credit(message);
  const bool is_paid =
      path_.credits.may_take_back(head.header.credits) && eager_.may_take_back(head.label.returned_bytes);
  if (!is_paid || !tagged_receives().take_at_arrival(head, message)) return false;
  path_.credits.add_back(head.header.credits);
  eager_.add_back(head.label.returned_bytes);
  if (!was_quiet || tagged_receives().owes_something()) {
    settle({});
  } else if (path_.credits.return_is_due()) {
    return_credits();
  }
  return true;
}

// Touches no slot, because that would touch a page for most peers of a large job.
bool Connection::take_credit(const ArrivingMessage& message) {
  std::array<std::byte, wire::kHeaderBytes> bytes;
  if (message.length_bytes() != bytes.size()) return false;
  message.copy(0, bytes);
  const Result<wire::Message> decoded = wire::decode(bytes);
  if (!decoded || decoded->header.type != MessageType::kCredit) return false;
  if (!path_.credits.may_take_back(decoded->header.credits)) return false;
  settle(path_.credits.take_back(decoded->header.credits));
  return true;
}

void Connection::finish_kept(const Arrival& arrival, bool taken) {
  if (is_over()) return;
  tagged_receives().finish_kept(arrival, taken ? wire::AckStatus::kTaken : wire::AckStatus::kRefused);
  if (tagged_receives().owes_something()) settle({});
}

bool Connection::prepare_read() noexcept {
  return contained_status([&] { return tagged_receives().prepare_read(), Status(); }).ok();
}

void Connection::read_kept(std::uint32_t advert, const Operation& receive) {
  tagged_receives().read_kept(advert, receive);
  settle({});
}

void Connection::want(const Wish& wish) {
  if (is_over()) return;
  tagged_receives().want(wish);
  settle({});
}

void Connection::refuse_kept(std::uint32_t advert) {
  if (is_over()) return;
  tagged_receives().refuse_kept(advert);
  settle({});
}

void Connection::set_eager_max(std::size_t bytes) {
  tagged_sends().set_eager_max(bytes);
}

void Connection::handle(const Completion& completion) {
  if (is_over()) return;
  forget_quiet();
  if (completion.kind == CompletionKind::kDisconnected) return on_disconnect(completion.status);
  // Posts fail when the link breaks. Its last completion says why, and whether it ended in order.
  if (!completion.status.ok()) return lose_link(State::kLosing);
  if (completion.kind == CompletionKind::kSend) return on_send(completion);
  const Status status = dispatch(completion);
  if (status.ok() && receives_->took_directly() && is_steady() && sends_->all_sent())
    return finish_direct_receive();
  settle(status);
}

// A send that waited for room may go on; else there is at most an outcome.
void Connection::on_send(const Completion& completion) {
  const bool had_room = outbox_.has_room();
  outbox_.on_sent();
  const bool is_immediate = kind_of(completion.token) == PostKind::kImmediate;
  if (is_immediate) sends_->on_sent(id_of(completion.token));
  if (!had_room || !is_steady()) return settle({});
  if (is_immediate) sends_->deliver(sink_);
}

// A message went straight to its receive, and no send waits for the credits it brought.
void Connection::finish_direct_receive() {
  receives_->deliver(sink_);
  if (const Status status = outbox_.return_credits(false); !status.ok()) settle(status);
}

Status Connection::dispatch(const Completion& completion) {
  switch (kind_of(completion.token)) {
    case PostKind::kMessage:
    case PostKind::kImmediate: return {};  // on_send()
    case PostKind::kRead: receives_->on_read_done(); return {};
    case PostKind::kWrite: sends_->on_write_done(id_of(completion.token)); return {};
    case PostKind::kSlot: return on_receive(id_of(completion.token), completion.length_bytes);
  }
  return {};
}

Status Connection::on_receive(std::uint64_t slot, std::uint32_t length_bytes) {
  const Result<wire::Message> message = wire::decode(slots_.message(slot, length_bytes));
  if (!message) return message.error();
  const wire::Header& header = message->header;
  if ((header.type == MessageType::kReady) != (state_ == State::kAwaitingReady)) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: {} (type {}, {} bytes)",
                 header.type == MessageType::kReady ? "READY unexpected" : "message before READY",
                 static_cast<unsigned>(header.type), length_bytes);
  }
  if (!may_come(agreement_.kind, header)) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: type {} with flags {} on a connection of kind {}",
                 static_cast<unsigned>(header.type), header.flags, static_cast<unsigned>(agreement_.kind));
  }
  const std::size_t held = receives_->adverts_held() + (sends_->window_held() ? 1 : 0);
  if (const Status status = close_handshake_.check(header, held); !status.ok()) return status;
  if (const Status status = path_.credits.take_back(header.credits); !status.ok()) return status;
  if (is_tagged()) {
    const Status status = eager_.take_back(message->label.returned_bytes);
    if (!status.ok()) return status;
  }
  if (wire::is_data(header.type)) return receives_->on_data(*message, slot, length_bytes);
  if (spends_credit(agreement_.kind, header.type)) {
    if (const Status status = path_.credits.data_arrived(); !status.ok()) return status;
    path_.credits.owe();
  }
  if (const Status status = slots_.free(slot); !status.ok()) return status;
  return on_control(*message);
}

Status Connection::on_control(const wire::Message& message) {
  switch (message.header.type) {
    case MessageType::kReady:
      state_ = State::kOpen;
      sink_.ready();
      return {};
    case MessageType::kAck:
    case MessageType::kWant:
    case MessageType::kFetch:
    case MessageType::kRecallAck: return sends_->on_control(message);
    case MessageType::kRecall: return receives_->on_recall(message);
    case MessageType::kShutdown:
    case MessageType::kClose:
    case MessageType::kCloseAck: on_shutdown(message.header); return {};
    case MessageType::kOffer:
    case MessageType::kNotice:
    case MessageType::kRevoke:
    case MessageType::kRelease: return on_persistence(message);
    case MessageType::kProbe:
    case MessageType::kProbeAck: return probes_.on_control(message.header.type);
    case MessageType::kMore:
    case MessageType::kGrant: return on_growth(message);
    case MessageType::kCredit:
    case MessageType::kReturn:
    case MessageType::kAdvert:
    case MessageType::kImmediate:
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
    case MessageType::kHeld:
    case MessageType::kFetched: return {};
  }
  return {};
}

// An OFFER and the REVOKE of a receive are about our sends, the REVOKE of a send about our receives. NOTICE
// and RELEASE go to the owner of the window.
Status Connection::on_persistence(const wire::Message& message) {
  const MessageType type = message.header.type;
  const bool of_send = (message.header.flags & wire::kOfSend) != 0;
  const bool is_owner = type == MessageType::kNotice || type == MessageType::kRelease;
  if (type == MessageType::kOffer || of_send == is_owner) return sends_->on_control(message);
  return receives_->on_control(message);
}

Status Connection::on_growth(const wire::Message& message) {
  const Status status = growth_.on_control(message, !receives_->has_data(), path_.credits, slots_);
  agreement_.send_credits = path_.credits.send_total();
  return status;
}

void Connection::on_shutdown(const wire::Header& header) {
  const bool peer_received = close_handshake_.peer_receives();
  close_handshake_.on_message(header);
  if (!close_handshake_.peer_sends()) receives_->on_peer_end();
  if (!peer_received || close_handshake_.peer_receives()) return;
  sends_->stop(EPIPE);
  sink_.peer_stopped_receiving();
}

void Connection::flush() {
  sends_->flush();
  settle({});
}

Cancelled Connection::cancel(Direction direction, const Selection& selection, int error) {
  const Cancelled cancelled =
      direction == Direction::kSend ? sends_->cancel(selection, error) : receives_->cancel(selection, error);
  settle({});
  return cancelled;
}

void Connection::end_burst() {
  sends_->end_burst();
  settle({});
}

void Connection::set_nodelay(bool nodelay) {
  sends_->set_nodelay(nodelay);
  settle({});
}

void Connection::probe() {
  probes_.ask();
  settle({});
}

Readiness Connection::readiness() const noexcept {
  const bool can_send = state_ == State::kOpen && sends_->can_send(path_.credits.available() > 0);
  return {.receive = receives_->has_data(),
          .send = can_send,
          .peer_ended = !close_handshake_.peer_sends(),
          .peer_stopped = !close_handshake_.peer_receives(),
          .broken = false,
          .next_bytes = receives_->next_bytes()};
}

std::uint64_t Connection::oldest_post_ns(Direction direction) const noexcept {
  return direction == Direction::kSend ? sends_->oldest_post_ns() : receives_->oldest_post_ns();
}

void Connection::shutdown_sending() {
  sends_->shut_down();
  close_handshake_.request_shutdown_sending();
  settle({});
}

void Connection::shutdown_receiving() {
  receives_->stop({0, 0, kEndOfStream});
  close_handshake_.request_shutdown_receiving();
  settle({});
}

void Connection::close() {
  sends_->shut_down();
  receives_->stop({ECANCELED, 0, 0});
  close_handshake_.request_close();
  settle({});
}

void Connection::abort(Status why) {
  fail(why);
}

void Connection::on_disconnect(Status status) {
  // An orderly end proves that the peer had our last message; after a broken one, only what needs no proof is
  // clean.
  if (close_handshake_.handshake_complete() && (status.ok() || sends_->idle())) {
    lose_link(State::kEnded);
    sends_->on_all_received();
    return settle({});
  }
  fail(status.ok() ? Status(ECONNRESET) : status);
}

void Connection::settle(Status status) {
  forget_quiet();
  if (status.ok()) status = advance();
  if (status.error() == ENOTCONN) {
    lose_link(State::kLosing);
    status = advance();
  }
  if (!status.ok()) fail(status);
}

Status Connection::advance() {
  if (const Status status = receives_->match(); !status.ok()) return status;
  if (link_is_up()) {
    if (const Status status = receives_->post_reads(); !status.ok()) return status;
  }
  receives_->deliver(sink_);
  if (state_ == State::kOpen) {
    if (const Status status = transmit_pending(); !status.ok()) return status;
    receives_->deliver(sink_);  // an operation may have ended for want of a window
  }
  sends_->deliver(sink_);
  if (state_ == State::kOpen) {
    if (const Status status = send_shutdown_or_close(); !status.ok()) return status;
    if (close_handshake_.credits_matter(sends_->awaits_notices())) {
      if (const Status status = outbox_.return_credits(receives_->returns_credits_at_once()); !status.ok())
        return status;
    }
  }
  finish_close();
  return {};
}

Status Connection::transmit_pending() {
  if (const Status status = receives_->send_answers(outbox_); !status.ok()) return status;
  if (notices_first_) {
    const std::uint32_t before = path_.credits.available();
    if (const Status status = receives_->send_notices(outbox_); !status.ok()) return status;
    notices_first_ = path_.credits.available() == before;
  }
  const std::uint32_t before = path_.credits.available();
  if (const Status status = sends_->transmit(); !status.ok()) return status;
  if (path_.credits.available() != before) notices_first_ = true;
  if (const Status status = receives_->send_notices(outbox_); !status.ok()) return status;
  if (!close_handshake_.may_probe()) return {};
  if (const Status status = growth_.send(outbox_, sends_->stalled(), path_.credits, slots_); !status.ok())
    return status;
  agreement_.receive_credits = path_.credits.receive_total();
  return probes_.send(outbox_);
}

Status Connection::send_shutdown_or_close() {
  if (!outbox_.has_room()) return {};
  MessageType type = MessageType::kShutdown;
  std::uint8_t flags = 0;
  if (close_handshake_.close_due(sends_->idle(), receives_->settled())) {
    type = MessageType::kClose;
  } else if (close_handshake_.close_answer_due(sends_->adverts_outstanding(), receives_->settled())) {
    type = MessageType::kCloseAck;
  } else {
    flags = close_handshake_.shutdown_due(sends_->all_sent());
    if (flags == 0) return {};
  }
  if (const Status status = outbox_.send(type, flags); !status.ok()) return status;
  close_handshake_.sent(type, flags);
  return {};
}

void Connection::finish_close() {
  if (is_over() || !close_handshake_.close_requested() || !close_handshake_.handshake_complete()) return;
  if (!sends_->idle() || (!outbox_.all_left() && state_ != State::kEnded)) return;
  state_ = State::kClosed;
  slots_.retire();
  sink_.closed();
}

void Connection::lose_link(State state) {
  forget_quiet();
  state_ = state;
  slots_.retire();
}

void Connection::fail(Status why) {
  if (is_over()) return;
  forget_quiet();
  state_ = State::kFailed;
  slots_.retire();
  path_.link.close();
  // Only now is the memory of open operations out of the provider's hands.
  sends_->fail_all(why.error());
  receives_->fail_all(why.error());
  sends_->deliver(sink_);
  receives_->deliver(sink_);
  sink_.failed(why);
}

}  // namespace exs::proto
