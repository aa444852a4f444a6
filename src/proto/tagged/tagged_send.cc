// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/tagged/tagged_send.h"

#include <algorithm>
#include <new>
#include <utility>

#include "src/log/log.h"
#include "src/proto/slice_cursor.h"
#include "src/proto/slots.h"
#include "src/proto/token.h"
#include "src/wire/codec.h"

namespace exs::proto {

using wire::MessageType;

namespace {

std::size_t longest_eager(const Agreement& agreement) {
  return agreement.small_bytes - std::min<std::size_t>(agreement.small_bytes, wire::kLabelBytesMax);
}

std::size_t most_windows(const Agreement& agreement) {
  const std::size_t room = slot_bytes(agreement) - wire::kTaggedWithDataBytes;
  return std::min(room, kCopiedBytesMax) / wire::kListEntryBytes;
}

std::size_t pieces_of(const Operation& operation) {
  if (operation.vector.empty()) return 1;
  return static_cast<std::size_t>(
      std::count_if(operation.vector.begin(), operation.vector.end(),
                    [](const LocalSlice& piece) { return piece.length_bytes > 0; }));
}

// A lack of windows, or of memory that may be registered for them; others may hold them.
bool is_shortage(Status error) noexcept {
  return error == Status(ENOSPC) || error == Status(ENOMEM);
}

}  // namespace

TaggedSends::TaggedSends(Link& link, Outbox& outbox, Credits& credits, EagerWindow& eager, Counters& counters,
                         const Agreement& agreement, std::uint32_t first_sequence)
    : link_(link),
      outbox_(outbox),
      credits_(credits),
      eager_(eager),
      counters_(counters),
      eager_agreed_(longest_eager(agreement)),
      windows_max_(most_windows(agreement)),
      part_max_(std::min<std::size_t>(agreement.small_bytes, kCopiedBytesMax)),
      adverts_max_(agreement.tagged.adverts_out),
      eager_max_(eager_agreed_),
      next_sequence_(first_sequence) {}

void TaggedSends::set_eager_max(std::size_t bytes) noexcept {
  eager_max_ = std::min(bytes, eager_agreed_);
}

void TaggedSends::post(const Operation& operation) {
  if (stop_error_ != 0) {
    ended_.push_back({operation, {stop_error_, 0, 0}});
  } else {
    waiting_.push_back(operation);
    if (wish_ && wished_ == 0 && wish_->fits(operation.label->bits)) wished_ = waiting_.count();
  }
}

wire::Message TaggedSends::message_of(MessageType type, const Operation& operation,
                                      std::uint32_t id) const noexcept {
  const Label& label = *operation.label;
  wire::Message message;
  message.header.type = type;
  message.header.flags = static_cast<std::uint8_t>((label.synchronous ? wire::kSynchronous : 0) |
                                                   (label.has_data ? wire::kWithData : 0));
  message.header.sequence = next_sequence_;
  message.label = {.bits = label.bits, .data = label.data, .returned_bytes = eager_.owed(), .id = id};
  return message;
}

void TaggedSends::sent(const wire::Message& message) noexcept {
  eager_.returned(message.label.returned_bytes);
  credits_.spend();
  ++next_sequence_;
}

bool TaggedSends::may_go_eagerly(const Operation& operation) const noexcept {
  const std::uint64_t bytes = operation.memory.length_bytes;
  if (bytes > eager_max_ || (!operation.vector.empty() && bytes > kCopiedBytesMax)) return false;
  return eager_.has_room(EagerWindow::cost_of(bytes));
}

bool TaggedSends::send_now(const Operation& operation) {
  const bool is_next = waiting_.empty() && stop_error_ == 0 && credits_.available() > 0;
  if (!is_next || operation.label->synchronous || !operation.vector.empty() || !may_go_eagerly(operation))
    return false;
  const wire::Message message = message_of(MessageType::kTagged, operation, 0);
  if (!outbox_.send_now(message, operation.memory)) return false;
  sent(message);
  eager_.spend(EagerWindow::cost_of(operation.memory.length_bytes));
  count(sent_immediate(operation));
  return true;
}

ShortSend TaggedSends::send_short(const Label& label, LocalSlice payload) noexcept {
  const std::uint64_t bytes = payload.length_bytes;
  if (label.synchronous || bytes > eager_max_) return ShortSend::kNot;
  const std::uint32_t cost = EagerWindow::cost_of(bytes);
  if (credits_.available() == 0 || !eager_.has_room(cost)) return ShortSend::kNoCredit;
  const std::uint32_t credits_owed = credits_.owed();
  const std::uint32_t bytes_owed = eager_.owed();
  const auto flags = static_cast<std::uint8_t>(label.has_data ? wire::kWithData : 0);
  const wire::TaggedHead head{
      .header = {MessageType::kTagged, flags, static_cast<std::uint16_t>(credits_owed), next_sequence_},
      .label = {label.bits, label.data, bytes_owed, 0}};
  wire::TaggedBytes room;
  if (!link_.send_short(wire::encode_tagged(head, room), payload)) return ShortSend::kNot;
  credits_.returned(credits_owed);
  credits_.spend();
  eager_.returned(bytes_owed);
  eager_.spend(cost);
  ++next_sequence_;
  ++counters_.immediates_sent;
  ++counters_.sends_done;
  counters_.bytes_sent += bytes;
  counters_.immediate_bytes += bytes;
  return ShortSend::kSent;
}

Status TaggedSends::transmit() {
  if (const Status status = serve_fetches(); !status.ok()) return status;
  while (!waiting_.empty()) {
    const Result<bool> has_left = send(waiting_.front());
    if (!has_left) return has_left.error();
    if (!*has_left) break;
    waiting_.pop_front();
    if (wished_ > 0 && --wished_ == 0) wish_.reset();
  }
  return {};
}

Result<bool> TaggedSends::send(const Operation& operation) {
  if (credits_.available() == 0) {
    ++counters_.credit_stalls;
    return false;
  }
  if (!outbox_.has_room()) return false;
  if (may_go_eagerly(operation)) return send_eagerly(operation);
  if (adverts_ >= adverts_max_ + (wished_ > 0 ? wire::kWantedMax : 0)) return false;
  const bool is_held = operation.memory.length_bytes == 0 || adverts_ >= adverts_max_;
  return is_held ? send_held(operation) : send_advert(operation);
}

Result<bool> TaggedSends::send_eagerly(const Operation& operation) {
  const bool is_awaited = operation.label->synchronous;
  const std::uint32_t number = open_entry(operation);
  const wire::Message message = message_of(MessageType::kTagged, operation, is_awaited ? number + 1 : 0);
  const std::uint64_t token = make_token(PostKind::kImmediate, number);
  const std::size_t bytes = operation.memory.length_bytes;
  Status status;
  if (operation.vector.empty()) {
    status = outbox_.send(message, operation.memory, token);
  } else {
    SliceCursor(operation).drain_into(outbox_.tail_room(bytes));
    status = outbox_.send_with_tail(message, bytes, token);
  }
  if (status.error() == EFAULT) {  // nothing has left: an error of the memory ends this send alone
    open_[number].outcome = {EFAULT, 0, 0};
    end(number);
    return true;
  }
  if (!status.ok()) {
    close_entry(number);
    return failure(status);
  }
  sent(message);
  eager_.spend(EagerWindow::cost_of(bytes));
  Sent& entry = open_[number];
  entry.is_leaving = true;
  entry.is_awaited = is_awaited;
  entry.outcome = sent_immediate(operation);
  if (is_awaited) ++unanswered_;
  return true;
}

// An error of the memory ends this send alone.
Result<bool> TaggedSends::send_advert(const Operation& operation) {
  const std::uint32_t number = open_entry(operation);
  Sent& entry = open_[number];
  Result<Windows> windows = open_windows_of(operation, entry);
  if (!windows) {
    if (is_shortage(windows.error())) {
      close_entry(number);
      return send_held(operation);
    }
    if (windows.error() == Status(ENOTCONN)) {
      close_entry(number);
      return failure(windows.error());
    }
    entry.outcome = {windows.error().error(), 0, 0};
    end(number);
    return true;
  }
  entry.windows = std::move(*windows);
  const wire::Message message = message_of(MessageType::kTaggedAdvert, operation, number + 1);
  if (const Status status = send_windows(message, entry.windows); !status.ok()) {
    // The peer does not know of the windows, so it cannot be reading.
    static_cast<void>(close_windows_of(entry));
    close_entry(number);
    return failure(status);
  }
  note_announced(entry, message);
  return true;
}

Result<bool> TaggedSends::send_held(const Operation& operation) {
  const std::uint32_t number = open_entry(operation);
  wire::Message message = message_of(MessageType::kHeld, operation, number + 1);
  message.held_bytes = operation.memory.length_bytes;
  if (const Status status = outbox_.send(message); !status.ok()) {
    close_entry(number);
    return failure(status);
  }
  Sent& entry = open_[number];
  note_announced(entry, message);
  if (message.held_bytes == 0) return true;
  entry.fetch = Fetch::kMayCome;
  ++held_;
  return true;
}

void TaggedSends::note_announced(Sent& entry, const wire::Message& message) noexcept {
  sent(message);
  entry.is_awaited = entry.is_advert = true;
  entry.outcome = {0, entry.operation.memory.length_bytes, 0};
  ++unanswered_;
  ++adverts_;
}

Status TaggedSends::send_windows(const wire::Message& message, const Windows& windows) {
  const std::size_t count = windows.length_bytes == 0 ? 0 : 1 + windows.more.size();
  const std::span<std::byte> list = outbox_.tail_room(count * wire::kListEntryBytes);
  if (count > 0) wire::encode_list_entry(on_wire(windows.first), list, 0);
  for (std::size_t i = 1; i < count; ++i) wire::encode_list_entry(on_wire(windows.more[i - 1]), list, i);
  return outbox_.send_with_tail(message, list.size(), make_token(PostKind::kMessage, 0));
}

Status TaggedSends::serve_fetches() {
  while (!fetches_.empty() && credits_.available() > 0 && outbox_.has_room()) {
    Sent& entry = open_[fetches_.front()];
    if (!entry.parts) {
      Result<Windows> windows = open_windows_of(entry.operation, entry);
      if (windows) {
        entry.windows = std::move(*windows);
      } else if (is_shortage(windows.error())) {
        entry.parts.emplace(entry.operation);
      } else if (windows.error() == Status(ENOTCONN)) {
        return windows.error();
      } else {
        entry.outcome = {windows.error().error(), 0, 0};
      }
    }
    if (const Status status = entry.parts ? send_part(entry) : send_fetched(entry); !status.ok())
      return status;
    if (entry.fetch == Fetch::kNone) fetches_.drop_front();
  }
  return {};
}

// Sends without windows: the peer cannot read this memory.
Status TaggedSends::send_fetched(Sent& entry) {
  wire::Message message;
  message.header.type = MessageType::kFetched;
  message.header.sequence = next_sequence_;
  if (const Status status = send_windows(message, entry.windows); !status.ok()) return status;
  sent(message);
  entry.fetch = Fetch::kNone;
  --held_;
  return {};
}

Status TaggedSends::send_part(Sent& entry) {
  wire::Message message;
  message.header.type = MessageType::kFetched;
  message.header.flags = wire::kPart;
  message.header.sequence = next_sequence_;
  SliceCursor parts = *entry.parts;
  const std::uint64_t bytes = std::min<std::uint64_t>(parts.left_bytes(), part_max_);
  parts.drain_into(outbox_.tail_room(bytes));
  if (const Status status = outbox_.send_with_tail(message, bytes, make_token(PostKind::kMessage, 0));
      !status.ok())
    return status;
  sent(message);
  entry.parts = parts;
  if (parts.left_bytes() > 0) return {};
  entry.fetch = Fetch::kNone;
  --held_;
  return {};
}

// More pieces than an advert names are copied into one.
Result<Windows> TaggedSends::open_windows_of(const Operation& operation, Sent& sent) {
  return pieces_of(operation) <= windows_max_ ? open_windows(link_, operation)
                                              : open_window_of_copy(operation, sent);
}

Status TaggedSends::close_windows_of(Sent& sent) {
  return sent.windows.length_bytes == 0 ? Status() : close_windows(link_, sent.windows);
}

Result<Windows> TaggedSends::open_window_of_copy(const Operation& operation, Sent& sent) {
  const std::size_t bytes = operation.memory.length_bytes;
  sent.copy.reset(new (std::nothrow) std::byte[bytes]);
  if (sent.copy == nullptr) return failure(ENOMEM);
  SliceCursor(operation).drain_into({sent.copy.get(), bytes});
  Operation copied;
  copied.memory = {sent.copy.get(), bytes, {}};
  return open_windows(link_, copied);
}

// ---------------------------------------------------------------- from the peer, and from the link

void TaggedSends::on_sent(std::uint64_t id) {
  const auto number = static_cast<std::uint32_t>(id);
  open_[number].is_leaving = false;
  end_if_over(number);
}

Status TaggedSends::on_control(const wire::Message& message) {
  switch (message.header.type) {
    case MessageType::kAck: return on_ack(message);
    case MessageType::kFetch: return on_fetch(message);
    case MessageType::kWant:
      wish_ = {message.label.bits, message.ignore};
      look_for_wished();
      return {};
    default: return Status(EPROTO);
  }
}

void TaggedSends::look_for_wished() noexcept {
  wished_ = 0;
  for (std::size_t i = 0; wish_ && wished_ == 0 && i < waiting_.count(); ++i) {
    if (wish_->fits(waiting_[i].label->bits)) wished_ = i + 1;
  }
}

Status TaggedSends::on_fetch(const wire::Message& message) {
  const std::uint32_t number = message.header.sequence - 1;
  if (number >= open_.size() || !open_[number].is_open || open_[number].fetch != Fetch::kMayCome) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: FETCH of {}, which is not held",
                 message.header.sequence);
  }
  fetches_.push_back(number);
  open_[number].fetch = Fetch::kIsDue;
  return {};
}

Status TaggedSends::on_ack(const wire::Message& message) {
  const std::uint32_t number = message.header.sequence - 1;
  const bool waits = number < open_.size() && open_[number].is_open && open_[number].is_awaited &&
                     open_[number].fetch != Fetch::kIsDue;
  if (!waits) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {}, which waits for none",
                 message.header.sequence);
  }
  Sent& answered = open_[number];
  const wire::AckStatus answer = message.ack.status;
  if (answer > wire::AckStatus::kRefused ||
      message.ack.bytes_taken > answered.operation.memory.length_bytes) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {} with status {}, {} bytes",
                 message.header.sequence, static_cast<unsigned>(answer), message.ack.bytes_taken);
  }
  if (const Status status = close_windows_of(answered); status.error() == EBUSY) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {} while the peer still reads",
                 message.header.sequence);
  } else if (!status.ok()) {
    return status;
  }
  if (answered.is_advert) --adverts_;
  if (answered.fetch == Fetch::kMayCome) --held_;
  ++counters_.acks_received;
  --unanswered_;
  answered.is_awaited = false;
  if (answer == wire::AckStatus::kRefused && answered.outcome.error == 0) answered.outcome = {EPIPE, 0, 0};
  end_if_over(number);
  return {};
}

// ---------------------------------------------------------------- entries

std::uint32_t TaggedSends::open_entry(const Operation& operation) {
  ended_.reserve(ended_.count() + open_.taken() + 1);  // so that ends need no memory
  const std::uint32_t number = open_.take_number();
  open_[number].operation = operation;
  open_[number].is_open = true;
  return number;
}

void TaggedSends::close_entry(std::uint32_t number) noexcept {
  open_[number] = {};
  open_.give_back(number);
}

void TaggedSends::end_if_over(std::uint32_t number) {
  if (!open_[number].is_leaving && !open_[number].is_awaited) end(number);
}

void TaggedSends::end(std::uint32_t number) {
  ended_.push_back({open_[number].operation, open_[number].outcome});
  close_entry(number);
}

Cancelled TaggedSends::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::size_t left = waiting_.count(); left > 0; --left) {
    const Operation operation = waiting_.pop_front();
    if (!selection.matches(operation)) {
      waiting_.push_back(operation);
      continue;
    }
    ++cancelled.matched;
    ended_.push_back({operation, {error, 0, 0}});
  }
  look_for_wished();
  for (const Sent& sent : open_) {
    if (!sent.is_open || !selection.matches(sent.operation)) continue;
    ++cancelled.matched;
    ++cancelled.begun;
  }
  return cancelled;
}

void TaggedSends::stop(int error) {
  refuse_later(error);
  while (!waiting_.empty()) ended_.push_back({waiting_.pop_front(), {error, 0, 0}});
  wished_ = 0;
}

void TaggedSends::on_all_received() {
  for (std::uint32_t number = 0; number < open_.size(); ++number) {
    if (!open_[number].is_open) continue;
    open_[number].is_leaving = false;
    end_if_over(number);
  }
}

void TaggedSends::fail_all(int error) {
  stop_error_ = error;
  has_failed_ = true;
}

// Straight to the sink: a failure may be for want of memory.
void TaggedSends::deliver_failed(OutcomeSink& sink) {
  const Outcome outcome{stop_error_, 0, 0};
  for (Sent& sent : open_) {
    if (!sent.is_open) continue;
    // The one that found no memory on its way out still waits, too.
    if (!waiting_.empty() && waiting_.front().label == sent.operation.label) waiting_.drop_front();
    sink.completed(Direction::kSend, sent.operation, outcome);
  }
  open_.clear();
  fetches_.clear();
  unanswered_ = adverts_ = held_ = 0;
  for (; !waiting_.empty(); waiting_.drop_front())
    sink.completed(Direction::kSend, waiting_.front(), outcome);
}

void TaggedSends::deliver(OutcomeSink& sink) {
  for (; !ended_.empty(); ended_.drop_front()) {
    const Ended& ended = ended_.front();
    count(ended.outcome);
    sink.completed(Direction::kSend, ended.operation, ended.outcome);
  }
  if (has_failed_) deliver_failed(sink);
}

void TaggedSends::count(const Outcome& outcome) noexcept {
  if (outcome.error != 0) return;
  ++counters_.sends_done;
  counters_.bytes_sent += outcome.length_bytes;
  if ((outcome.flags & kImmediate) != 0) counters_.immediate_bytes += outcome.length_bytes;
}

}  // namespace exs::proto
