// Calls of a client on their way to the server: slots, and the queue for them.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "rpc/fast/client.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/named_refusal.h"

namespace exs::rpc {

// Returns a call that has been sent or queued.
Result<exs_rpc_call*> Client::start_call(const CallParameters& parameters) {
  for (int tries = 2;; --tries) {
    if (const Status bound = ensure_binding(parameters); !bound.ok()) return failure(bound);
    if (const Status callable = check_verdict(parameters); !callable.ok()) return failure(callable);
    auto started = start_now(parameters);
    if (!started && started.error() == Status(EAGAIN) && !parameters.may_wait)
      started = queue_call(parameters);
    if (started) return started;
    const int error = started.error().error();
    if (error == EAGAIN && parameters.may_wait) {
      const Status room = wait_for_room(parameters);
      if (room.ok()) {
        ++tries;
      } else if (is_usable() || tries == 1) {
        return failure(room);
      }
    } else if (is_usable() || tries == 1) {  // a second binding has been tried
      return failure(refuse_start(parameters, error));
    }
  }
}

Status Client::check_verdict(const CallParameters& parameters) const {
  const char* const name = interface_.procedures[parameters.procedure].name;
  switch (binding_->verdict(parameters.procedure)) {
    case ProcedureVerdict::kCallable: return {};
    case ProcedureVerdict::kAbsent: return refuse_in_words(ENOSYS, {"the server does not have ", name});
    default:
      return refuse_in_words(
          EPROTONOSUPPORT,
          {"the server has ", name, " with other types: make the stubs of both from one interface"});
  }
}

// Why a call could not be started. If the connection is usable, that is about the call.
Status Client::refuse_start(const CallParameters& parameters, int error) const {
  const char* const name = interface_.procedures[parameters.procedure].name;
  if (!is_usable())
    return refuse_in_words(ECONNRESET, {name, ": the connection broke: ", std::strerror(error)});
  const Decimal slots(binding_->slots());
  switch (error) {
    case EAGAIN:
      return refuse_in_words(
          error, {name, ": ", slots.text(), " calls are under way: end one, or ask for more slots"});
    case EINVAL:
      return refuse_named(error, name, "an argument has a NULL, or a value that its type does not have");
    case EMSGSIZE:
      return refuse_named(error, name,
                          "an argument has more elements than the interface or the server allows");
    default: return refuse_named(error, name, "no memory for its arguments");
  }
}

// Returns NULL if the limit of calls is reached.
exs_rpc_call* Client::take_call(const CallParameters& parameters) {
  auto* call = static_cast<exs_rpc_call*>(free_calls_);
  if (call != nullptr) {
    free_calls_ = call->next;
  } else if (calls_.size() < std::size_t{settings_.slots} + settings_.waiting) {
    call = &calls_.emplace_back();
  } else {
    return nullptr;
  }
  const exs_rpc_procedure_t& procedure = interface_.procedures[parameters.procedure];
  const exs_rpc_context_t* const context = parameters.context;
  call->move_to(CallState::kNew);
  call->client = this;
  call->procedure = &procedure;
  call->place = static_cast<std::uint16_t>(parameters.procedure);
  call->context = parameters.context;
  call->is_timed = context != nullptr && (context->flags & EXS_RPC_TIMED) != 0;
  call->result = parameters.result;
  call->is_in_place = (procedure.flags & EXS_RPC_INOUT) != 0 ||
                      (context != nullptr && (context->flags & EXS_RPC_IN_PLACE) != 0);
  call->limit_ns = parameters.end_ns - parameters.start_ns;
  call->end_ns = parameters.end_ns;
  call->outcome = {};
  call->on_end = nullptr;
  call->has_owner = (procedure.flags & EXS_RPC_ONEWAY) == 0;
  return call;
}

// Frees a call that has ended and has no owner.
void Client::recycle(ClientCall& call) {
  if (call.has_owner || call.state != CallState::kEnded) return;
  EXS_CHECK(call.slot == kNoSlot);
  call.move_to(CallState::kFree);
  call.next = std::exchange(free_calls_, &call);
}

// Frees a call that has not been sent.
void Client::forsake(ClientCall& call) {
  call.has_owner = false;
  if (call.is_in_slot()) return leave_slot(call);
  call.move_to(CallState::kEnded);
  recycle(call);
}

bool Client::has_free_slot() const {
  return std::any_of(slots_.begin(), slots_.begin() + binding_->slots(),
                     [](const CallSlot& slot) { return slot.call == nullptr; });
}

// Takes the first free slot, so a client with one call at a time uses one slot.
void Client::take_slot(ClientCall& call) {
  std::uint32_t place = 0;
  while (slots_[place].call != nullptr) ++place;
  EXS_CHECK(place < binding_->slots());
  call.move_to(CallState::kInSlot);
  slots_[place].call = &call;
  call.slot = place;
  call.sequence = slots_[place].sequence += kSlotsMax;
}

void Client::leave_slot(ClientCall& call) {
  EXS_CHECK(call.slot < kSlotsMax && slots_[call.slot].call == &call);
  if (binding_ != nullptr && binding_->window() != nullptr) binding_->window()->forget_reply(call.slot);
  slots_[call.slot].call = nullptr;
  call.slot = kNoSlot;
  call.move_to(CallState::kEnded);
  recycle(call);
}

// EAGAIN: no slot is free, or too many calls have not been ended. An invalid argument leaves the binding as it is.
Result<exs_rpc_call*> Client::start_now(const CallParameters& parameters) {
  if (first_queued_ != nullptr || !has_free_slot()) return failure(EAGAIN);
  exs_rpc_call* const call = take_call(parameters);
  if (call == nullptr) return failure(EAGAIN);
  take_slot(*call);
  OutgoingMessage message(binding_->memory(), call->slot, message_);
  std::size_t bytes = kHeaderBytes;
  if (const Status written = write_argument(parameters, message, bytes); !written.ok()) {
    forsake(*call);
    return failure(written);
  }
  put_header(header_of(*call, bytes), message.message());
  const Status sent = binding_->send(message, call->slot, bytes);
  if (sent.ok()) return call;
  forsake(*call);
  lose_binding(sent.error());
  return failure(sent);
}

// Queues the call until a slot is free. Errors as above.
Result<exs_rpc_call*> Client::queue_call(const CallParameters& parameters) {
  if (queued_ >= settings_.waiting) return failure(EAGAIN);
  exs_rpc_call* const call = take_call(parameters);
  if (call == nullptr) return failure(EAGAIN);
  OutgoingMessage message(message_);
  Status written = write_argument(parameters, message, call->message_bytes);
  if (written.ok()) written = keep_message(*call);
  if (!written.ok()) {
    forsake(*call);
    return failure(written);
  }
  call->move_to(CallState::kQueued);
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
Status Client::keep_message(ClientCall& call) {
  if (call.message_bytes > kInlineBytes) {
    std::swap(call.long_message, message_);
    return {};
  }
  try {
    call.short_message.assign(message_.message(), message_.message() + call.message_bytes);
    return {};
  } catch (const std::bad_alloc&) {
    return Status(ENOMEM);
  }
}

Status Client::send_kept_message(ClientCall& call) {
  const CallHeader header = header_of(call, call.message_bytes);
  if (call.message_bytes > kInlineBytes) {
    put_header(header, call.long_message.message());
    return binding_->link().send_copied(call.long_message, call.message_bytes);
  }
  OutgoingMessage message(binding_->memory(), call.slot, message_);
  std::memcpy(message.message(), call.short_message.data(), call.message_bytes);
  put_header(header, message.message());
  return binding_->send(message, call.slot, call.message_bytes);
}

ClientCall& Client::pop_queued() {
  EXS_CHECK(queued_ > 0 && first_queued_->is_queued());
  ClientCall& call = *first_queued_;
  first_queued_ = call.next;
  --queued_;
  return call;
}

// Sends queued calls while slots are free. Calls given up meanwhile have ended.
void Client::send_queued() {
  while (is_usable() && first_queued_ != nullptr && has_free_slot()) {
    ClientCall& call = pop_queued();
    if (call.has_ended()) {
      call.move_to(CallState::kEnded);
      recycle(call);
      continue;
    }
    take_slot(call);
    call.limit_ns = time_left(call.end_ns, monotonic_ns());
    if (const Status sent = send_kept_message(call); !sent.ok()) lose_binding(sent.error());
  }
}

Status Client::wait_for_room(const CallParameters& parameters) {
  const char* const name = interface_.procedures[parameters.procedure].name;
  const bool is_in_time = look_until(parameters.end_ns, monotonic_ns());
  if (!is_usable()) return refuse_named(ECONNRESET, name, "the connection broke");
  if (is_in_time) return {};
  const Decimal slots(binding_->slots());
  return refuse_in_words(ETIMEDOUT,
                         {name, ": all ", slots.text(), " slots are taken by calls that are not answered"});
}

// Encodes the argument behind room for the header.
Status Client::write_argument(const CallParameters& parameters, OutgoingMessage& message,
                              std::size_t& bytes) const {
  bytes = kHeaderBytes;
  const exs_rpc_type_t* const type = interface_.procedures[parameters.procedure].argument;
  if (type != nullptr)
    return encode(*type, parameters.argument, message, kHeaderBytes, binding_->longest(), bytes);
  return message.reserve(kHeaderBytes, 0) ? Status() : Status(ENOMEM);
}

CallHeader Client::header_of(const ClientCall& call, std::size_t bytes) {
  CallHeader header;
  header.sequence = call.sequence;
  header.length = static_cast<std::uint32_t>(bytes - kHeaderBytes);
  header.procedure = call.place;
  header.kind = CallMessage::kCall;
  header.is_timed = call.is_timed ? 1 : 0;
  header.micros = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(call.limit_ns / 1000, 1, UINT32_MAX));
  return header;
}

}  // namespace exs::rpc
