// Calls of a client on their way to the server: slots, and the queue for them.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rpc/channel/clock.h"
#include "rpc/fast/client.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/error_text.h"

namespace exs::rpc {

// Returns NULL if the limit of calls is reached.
exs_rpc_call* Client::take_call(const Wish& wish) {
  auto* call = static_cast<exs_rpc_call*>(free_calls_);
  if (call != nullptr) {
    free_calls_ = call->next;
  } else if (calls_.size() < std::size_t{settings_.slots} + settings_.waiting) {
    call = &calls_.emplace_back();
  } else {
    return nullptr;
  }
  const exs_rpc_procedure_t& procedure = interface_.procedures[wish.procedure];
  call->client = this;
  call->procedure = &procedure;
  call->place = static_cast<std::uint16_t>(wish.procedure);
  call->context = wish.context;
  call->is_timed = wish.context != nullptr && (wish.context->flags & EXS_RPC_TIMED) != 0;
  call->result = wish.result;
  call->is_in_place = (procedure.flags & EXS_RPC_INOUT) != 0 ||
                      (wish.context != nullptr && (wish.context->flags & EXS_RPC_IN_PLACE) != 0);
  call->limit_ns = wish.end_ns - wish.start_ns;
  call->end_ns = wish.end_ns;
  call->error = 0;
  call->ended = nullptr;
  call->has_ended = false;
  call->has_owner = (procedure.flags & EXS_RPC_ONEWAY) == 0;
  return call;
}

// Frees a call that has neither owner nor slot and is not queued.
void Client::recycle(Call& call) {
  if (call.has_owner || call.slot != kNoSlot || call.is_queued) return;
  call.next = std::exchange(free_calls_, &call);
}

// Frees a call that has not been sent.
void Client::forsake(Call& call) {
  call.has_owner = false;
  if (call.slot != kNoSlot) {
    leave_slot(call);
  } else {
    recycle(call);
  }
}

bool Client::has_free_slot() const {
  return std::any_of(slots_.begin(), slots_.begin() + binding_->slots(),
                     [](const Slot& slot) { return slot.call == nullptr; });
}

// Takes the first free slot, so a client with one call at a time uses one slot.
void Client::take_slot(Call& call) {
  std::uint32_t place = 0;
  while (slots_[place].call != nullptr) ++place;
  slots_[place].call = &call;
  call.slot = place;
  call.sequence = slots_[place].sequence += kSlotsMax;
}

void Client::leave_slot(Call& call) {
  if (binding_ != nullptr && binding_->window() != nullptr) binding_->window()->forget(call.slot);
  slots_[call.slot].call = nullptr;
  call.slot = kNoSlot;
  recycle(call);
}

// Returns NULL and sets `error`. EAGAIN: no slot is free, or too many calls have not been ended. An invalid argument leaves the binding
// as it is.
exs_rpc_call* Client::start_now(const Wish& wish, int& error) {
  error = EAGAIN;
  if (first_queued_ != nullptr || !has_free_slot()) return nullptr;
  exs_rpc_call* const call = take_call(wish);
  if (call == nullptr) return nullptr;
  take_slot(*call);
  Outgoing message(binding_->memory(), call->slot, message_);
  std::size_t bytes = kHeaderBytes;
  error = write(wish, message, bytes);
  if (error != 0) {
    forsake(*call);
    return nullptr;
  }
  put_header(header_of(*call, bytes), message.message());
  if (binding_->send(message, call->slot, bytes)) return call;
  error = errno;
  forsake(*call);
  lose_binding(error);
  return nullptr;
}

// Queues the call until a slot is free. Returns NULL and sets `error`, as above.
exs_rpc_call* Client::queue(const Wish& wish, int& error) {
  error = EAGAIN;
  if (queued_ >= settings_.waiting) return nullptr;
  exs_rpc_call* const call = take_call(wish);
  if (call == nullptr) return nullptr;
  Outgoing message(message_);
  error = write(wish, message, call->message_bytes);
  if (error != 0) {
    forsake(*call);
    return nullptr;
  }
  keep_message(*call);
  call->is_queued = true;
  call->next = nullptr;
  if (first_queued_ == nullptr) {
    first_queued_ = call;
  } else {
    last_queued_->next = call;
  }
  last_queued_ = call;
  ++queued_;
  return call;
}

// Keeps the message of `message_`. Only a long message keeps memory that a peer may read, which costs a descriptor.
void Client::keep_message(Call& call) {
  if (call.message_bytes <= kInlineBytes) {
    call.short_message.assign(message_.message(), message_.message() + call.message_bytes);
  } else {
    std::swap(call.long_message, message_);
  }
}

bool Client::send_kept_message(Call& call) {
  const Header header = header_of(call, call.message_bytes);
  if (call.message_bytes > kInlineBytes) {
    put_header(header, call.long_message.message());
    return binding_->link().send_copied(call.long_message, call.message_bytes);
  }
  Outgoing message(binding_->memory(), call.slot, message_);
  std::memcpy(message.message(), call.short_message.data(), call.message_bytes);
  put_header(header, message.message());
  return binding_->send(message, call.slot, call.message_bytes);
}

Call& Client::take_queued() {
  Call& call = *first_queued_;
  first_queued_ = call.next;
  call.is_queued = false;
  --queued_;
  return call;
}

// Sends queued calls while slots are free. Calls given up meanwhile have ended.
void Client::send_queued() {
  while (!is_broken_ && first_queued_ != nullptr && has_free_slot()) {
    Call& call = take_queued();
    if (call.has_ended) {
      recycle(call);
      continue;
    }
    take_slot(call);
    call.limit_ns = call.end_ns - now_ns();
    if (!send_kept_message(call)) lose_binding(errno);
  }
}

// Returns false with errno.
bool Client::wait_for_room(const Wish& wish, Lock& lock) {
  const exs_rpc_procedure_t& procedure = interface_.procedures[wish.procedure];
  const bool in_time = look(lock, wish.end_ns);
  if (is_broken_) {
    refuse(ECONNRESET, "%s: the connection broke", procedure.name);
  } else if (!in_time) {
    refuse(ETIMEDOUT, "%s: all %u slots are taken by calls that are not answered", procedure.name,
           binding_->slots());
  } else {
    return true;
  }
  return false;
}

// Encodes the argument behind room for the header.
int Client::write(const Wish& wish, Outgoing& message, std::size_t& bytes) {
  bytes = kHeaderBytes;
  const exs_rpc_type_t* const type = interface_.procedures[wish.procedure].argument;
  if (type != nullptr) return encode(*type, wish.argument, message, kHeaderBytes, binding_->longest(), bytes);
  return message.reserve(kHeaderBytes, 0) ? 0 : ENOMEM;
}

Header Client::header_of(const Call& call, std::size_t bytes) {
  Header header;
  header.sequence = call.sequence;
  header.length = static_cast<std::uint32_t>(bytes - kHeaderBytes);
  header.procedure = call.place;
  header.kind = Kind::kCall;
  header.is_timed = call.is_timed ? 1 : 0;
  header.micros = static_cast<std::uint32_t>(std::clamp<std::int64_t>(call.limit_ns / 1000, 1, UINT32_MAX));
  return header;
}

}  // namespace exs::rpc
