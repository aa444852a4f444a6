// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/refusal.h"
#include "rpc/channel/process.h"
#include "rpc/fast/named_refusal.h"

namespace exs::rpc {
namespace {

// After this much silence the client checks the connection before a call uses it: the server may have ended.
constexpr std::uint64_t kSilenceNs = 1'000'000;

}  // namespace

Client::Client(const ServerAddress& server, const exs_rpc_interface_t& interface,
               const ClientSettings& settings)
    : server_(server), interface_(interface), settings_(settings) {
  for (std::uint32_t i = 0; i < kSlotsMax; ++i) slots_[i].sequence = i;
}

// The analysis cannot follow a lock that is given up for a call and may be gone after it.
Client::Section::~Section() EXS_NO_THREAD_SAFETY_ANALYSIS {
  while (client_.ended_ != nullptr) {
    ClientCall& call = *std::exchange(client_.ended_, client_.ended_->next_ended);
    const auto on_end = std::exchange(call.on_end, nullptr);
    void* const user = call.user;
    next_ = std::exchange(client_.reporting_, this);
    client_.mutex_.unlock();
    on_end(user);
    if (!has_client_) return;
    client_.mutex_.lock();
    Section** place = &client_.reporting_;
    while (*place != this) place = &(*place)->next_;
    *place = next_;
  }
  client_.mutex_.unlock();
}

// One-way calls must not be lost.
Client::~Client() {
  const LockGuard lock(mutex_);
  for (Section* section = reporting_; section != nullptr; section = section->next_)
    section->has_client_ = false;
  const std::uint64_t end_ns = limit_after(monotonic_ns(), settings_.call_ns);
  const auto is_oneway = [](const CallSlot& slot) {
    return slot.call != nullptr && (slot.call->procedure->flags & EXS_RPC_ONEWAY) != 0;
  };
  while (has_own_queue() && is_usable() && is_own_process() &&
         std::any_of(slots_.begin(), slots_.end(), is_oneway))
    if (!look_until(end_ns, monotonic_ns())) break;
}

Status Client::connect() {
  const LockGuard lock(mutex_);
  return connect_for(settings_.connect_ns);
}

Status Client::connect_for(std::int64_t limit_ns) {
  EXS_CHECK(connection_ == ConnectionState::kNone && binding_ == nullptr);
  const std::int64_t connect_ns = std::min(limit_ns, settings_.connect_ns);
  const BindingParameters parameters{
      settings_.slots, settings_.longest, settings_.window, {settings_.queue, this}};
  auto made = ClientBinding::make(server_, interface_, parameters, connect_ns);
  if (!made) return made.error();
  binding_ = std::move(*made);
  connection_ = ConnectionState::kUsable;
  owes_receive_ = false;
  active_ns_ = monotonic_ns();
  return {};
}

Client::CallParameters Client::parameters_of(std::uint32_t procedure, const void* argument, void* result,
                                             exs_rpc_context_t* context, bool may_wait) const {
  const std::uint64_t start_ns = monotonic_ns();
  const bool has_limit = context != nullptr && context->timeout_ns > 0;
  const std::int64_t limit_ns = has_limit ? context->timeout_ns : settings_.call_ns;
  return {procedure, may_wait, argument, result, context, start_ns, limit_after(start_ns, limit_ns)};
}

Status Client::call(std::uint32_t procedure, const void* argument, void* result, exs_rpc_context_t* context) {
  const CallParameters parameters = parameters_of(procedure, argument, result, context, has_own_queue());
  if (const Status checked = check_parameters(parameters); !checked.ok()) return checked;
  const exs_rpc_procedure_t& called = interface_.procedures[procedure];
  if (!has_own_queue() && (called.flags & EXS_RPC_ONEWAY) == 0)
    return refuse_named(EINVAL, called.name,
                        "the client is on a queue of the program's: begin the call, and wait there");
  const Section section(*this);
  const bool is_idempotent = (called.flags & EXS_RPC_IDEMPOTENT) != 0;
  for (int tries = is_idempotent ? 2 : 1;; --tries) {
    const Result<exs_rpc_call*> started = start_call(parameters);
    if (!started) return started.error();
    ClientCall& call = **started;
    if (!call.has_owner) return {};  // one-way
    await_end(call, parameters.start_ns);
    if (call.outcome == Status(ECONNRESET) && tries > 1) {
      call.has_owner = false;
      recycle(call);
      continue;
    }
    return report_outcome(call, result);
  }
}

Result<exs_rpc_call*> Client::begin_call(std::uint32_t procedure, const void* argument,
                                         exs_rpc_context_t* context) {
  const CallParameters parameters = parameters_of(procedure, argument, nullptr, context, false);
  if (const Status checked = check_parameters(parameters); !checked.ok()) return failure(checked);
  const exs_rpc_procedure_t& called = interface_.procedures[procedure];
  if ((called.flags & EXS_RPC_ONEWAY) != 0)
    return failure(refuse_named(EINVAL, called.name, "a one-way call has no end: call it"));
  const Section section(*this);
  return start_call(parameters);
}

Status Client::end_call(ClientCall& call, void* result) {
  const Section section(*this);
  if (!has_own_queue() && !call.has_ended())
    return refuse_named(EAGAIN, call.procedure->name, "the call has not ended: exs_rpc_on_end() tells when");
  await_end(call, monotonic_ns());
  return report_outcome(call, result);
}

bool Client::has_ended(ClientCall& call) {
  const Section section(*this);
  if (has_own_queue() && !call.has_ended() && watch_ == WatchState::kNobody) watch_connection(0);
  if (!call.has_ended() && call.end_ns <= monotonic_ns()) give_up(call, ETIMEDOUT);
  return call.has_ended();
}

void Client::cancel(ClientCall& call) {
  const Section section(*this);
  if (call.has_ended()) return;
  give_up(call, ECANCELED);
  wake_waiting();
}

void Client::on_end(ClientCall& call, void (*ended)(void* user), void* user) {
  const Section section(*this);
  forget_end(call);
  call.on_end = ended;
  call.user = user;
  if (call.has_ended()) note_end(call);
}

void Client::note_end(ClientCall& call) {
  if (call.on_end != nullptr) call.next_ended = std::exchange(ended_, &call);
}

void Client::forget_end(ClientCall& call) {
  if (call.on_end == nullptr) return;
  call.on_end = nullptr;
  for (ClientCall** place = &ended_; *place != nullptr; place = &(*place)->next_ended) {
    if (*place != &call) continue;
    *place = call.next_ended;
    return;
  }
}

bool Client::take_event(const exs_event_t& event) {
  if (event.exs_evt_ahandle != this) return false;
  const Section section(*this);
  if (!is_usable() || event.exs_evt_socket != binding_->link().socket()) return true;
  take_event_of_binding(event);
  post_owed_receive();
  return true;
}

exs_rpc_client_info_t Client::info() {
  const LockGuard lock(mutex_);
  exs_rpc_client_info_t info{};
  if (!is_usable()) return info;
  MessageLink& link = binding_->link();
  socklen_t length = sizeof info.provider;
  exs_getsockopt(link.socket(), SOL_EXS, EXS_SO_PROVIDER, info.provider, &length);
  info.slots = binding_->slots();
  info.mapped = binding_->window() != nullptr ? 1 : 0;
  info.bytes_sent = link.sent_bytes();
  info.bytes_received = link.received_bytes();
  return info;
}

Status Client::check_parameters(const CallParameters& parameters) const {
  if (parameters.context != nullptr) {
    exs_rpc_context_t& context = *parameters.context;
    context.outcome = EXS_RPC_NOT_EXECUTED;
    context.remote_status = 0;
    context.server_us = 0;
    constexpr std::uint32_t kFlags = EXS_RPC_IN_PLACE | EXS_RPC_TIMED;
    if (context.timeout_ns < 0 || (context.flags & ~kFlags) != 0)
      return refuse_named(EINVAL, interface_.name, "a time or flag of the context: set it to zero first");
  }
  if (parameters.procedure < interface_.procedures_count) return check_procedure(parameters);
  const Decimal count(interface_.procedures_count);
  const Decimal wanted(parameters.procedure);
  return refuse_in_words(EINVAL, {interface_.name, " has ", count.text(), " procedures, and none at place ",
                                  wanted.text(), ": use its stubs"});
}

Status Client::check_procedure(const CallParameters& parameters) const {
  const exs_rpc_procedure_t& procedure = interface_.procedures[parameters.procedure];
  if (procedure.argument != nullptr && parameters.argument == nullptr)
    return refuse_named(EINVAL, procedure.name, "no argument");
  if (procedure.result != nullptr && parameters.may_wait && parameters.result == nullptr)
    return refuse_named(EINVAL, procedure.name, "no room for its result");
  if (is_own_process()) return {};
  return refuse_named(EOPNOTSUPP, procedure.name,
                      "a child of fork has no exs of its parent: fork before, or execute a program");
}

Status Client::ensure_binding(const CallParameters& parameters) {
  if (!has_own_queue()) {
    if (is_usable()) return {};
    return refuse_named(ECONNRESET, interface_.name, "the connection broke: open another client");
  }
  const bool is_silent = parameters.start_ns > active_ns_ && parameters.start_ns - active_ns_ > kSilenceNs;
  if (is_usable() && is_silent && watch_ == WatchState::kNobody) watch_connection(0);
  if (is_usable()) {
    active_ns_ = parameters.start_ns;
    return {};
  }
  while (watch_ != WatchState::kNobody)
    look_until(parameters.end_ns, monotonic_ns());  // it is about to see the end
  if (is_usable()) return {};
  binding_.reset();
  connection_ = ConnectionState::kNone;
  return connect_for(std::max<std::int64_t>(wait_left(parameters.end_ns, monotonic_ns()), 1));
}

void Client::await_end(ClientCall& call, std::uint64_t time_ns) {
  for (; !call.has_ended(); time_ns = monotonic_ns())
    if (!look_until(call.end_ns, time_ns) && !call.has_ended()) give_up(call, ETIMEDOUT);
}

bool Client::look_until(std::uint64_t end_ns, std::uint64_t time_ns) {
  if (watch_ == WatchState::kNobody) return watch_connection(wait_left(end_ns, time_ns));
  ++waiting_;
  const bool is_in_time = progress_.wait_until(mutex_, end_ns);
  --waiting_;
  return is_in_time;
}

// Nobody else ends the binding before watch_ is kNobody again.
bool Client::watch_connection(std::int64_t limit_ns) {
  EXS_CHECK(watch_ == WatchState::kNobody && binding_ != nullptr);
  post_owed_receive();
  watch_ = WatchState::kOne;
  ClientBinding& binding = *binding_;
  mutex_.unlock();
  constexpr std::size_t kEvents = 16;
  std::array<exs_event_t, kEvents> events;
  const int count = binding.wait(events, limit_ns);
  const int error = errno;
  mutex_.lock();
  watch_ = WatchState::kNobody;
  for (int i = 0; i < count; ++i) take_event_of_binding(events[static_cast<std::size_t>(i)]);
  const bool has_replies = take_replies();
  if (count < 0 && error != EINTR) lose_binding(error);
  if (waiting_ > 0) progress_.notify_all();
  return count != 0 || has_replies;
}

void Client::post_owed_receive() {
  if (!std::exchange(owes_receive_, false) || !is_usable()) return;
  if (const Status posted = binding_->link().receive_next(); !posted.ok()) lose_binding(posted.error());
}

// Calls have ended without an event of the connection: their threads check again. One event is enough for the thread that watches.
void Client::wake_waiting() {
  if (watch_ == WatchState::kOne) {
    watch_ = WatchState::kWoken;
    binding_->wake();
  }
  if (waiting_ > 0) progress_.notify_all();
}

void Client::take_event_of_binding(const exs_event_t& event) {
  if (!is_usable()) return;
  const ClientWindow* const window = binding_->window();
  if (window != nullptr && event.exs_evt_socket == window->socket()) {
    if (ClientWindow::is_end(event)) lose_binding(ECONNRESET);
    return;
  }
  MessageLink& link = binding_->link();
  if (event.exs_evt_socket != link.socket()) return;  // of a window that could not be made
  switch (link.take_event(event)) {
    case MessageLink::News::kNothing: break;
    case MessageLink::News::kEnd: lose_binding(link.why_ended().error()); break;
    case MessageLink::News::kMessage:
      owes_receive_ = true;
      if (link.type() != FrameType::kMessage || !take_reply(link.received())) lose_binding(EPROTO);
  }
}

// Takes the replies in the window. Returns false if there was none.
bool Client::take_replies() {
  ClientWindow* const window = is_usable() ? binding_->window() : nullptr;
  if (window == nullptr) return false;
  bool is_any = false;
  for (;;) {
    const auto message = window->receive_reply();
    if (message.empty()) return is_any;
    is_any = true;
    binding_->link().count_received(message.size());
    if (take_reply(message)) continue;
    lose_binding(EPROTO);
    return true;
  }
}

// Returns false if the server broke the protocol.
bool Client::take_reply(std::span<const std::byte> message) {
  CallHeader header;
  if (!get_header(message, header) || header.kind != CallMessage::kReply) return false;
  const std::uint32_t slot = header.sequence % kSlotsMax;
  if (slot >= binding_->slots()) return false;
  if (slots_[slot].call == nullptr || slots_[slot].sequence != header.sequence) return false;
  ClientCall& call = *slots_[slot].call;
  if (!call.has_ended()) {
    finish_call(call, header, message.subspan(kHeaderBytes));
    if (call.outcome == Status(EPROTO)) {
      leave_slot(call);
      return false;
    }
  }
  leave_slot(call);
  send_queued();
  return true;
}

// A slot stays taken until the reply has arrived.
void Client::give_up(ClientCall& call, int error) {
  const bool was_in_slot = call.is_in_slot();
  conclude(call, was_in_slot ? CallState::kInSlotOver : CallState::kQueuedOver,
           {Status(error), was_in_slot ? EXS_RPC_UNKNOWN : EXS_RPC_NOT_EXECUTED});
  if (!was_in_slot || !is_usable() || (call.procedure->flags & EXS_RPC_ONEWAY) != 0) return;
  CallHeader header;
  header.sequence = call.sequence;
  header.kind = CallMessage::kCancel;
  const Status sent = binding_->link().send_frame(FrameType::kMessage, bytes_of(header));
  if (!sent.ok()) lose_binding(sent.error());
}

void Client::conclude(ClientCall& call, CallState state, const CallOutcome& outcome) {
  EXS_CHECK(!call.has_ended());
  call.move_to(state);
  call.outcome = outcome.status;
  if (call.context != nullptr) call.context->outcome = outcome.executed;
  note_end(call);
}

void Client::lose_binding(int error) {
  if (!is_usable()) return;
  connection_ = ConnectionState::kBroken;
  binding_->link().break_off();
  const Status outcome(error == EPROTO ? EPROTO : ECONNRESET);
  for (const CallSlot& slot : slots_) {
    if (slot.call == nullptr) continue;
    ClientCall& call = *slot.call;
    if (!call.has_ended()) conclude(call, CallState::kInSlotOver, {outcome, EXS_RPC_UNKNOWN});
    leave_slot(call);
  }
  while (first_queued_ != nullptr) {
    ClientCall& call = pop_queued();
    if (!call.has_ended()) conclude(call, CallState::kQueuedOver, {outcome, EXS_RPC_NOT_EXECUTED});
    call.move_to(CallState::kEnded);
    recycle(call);
  }
  wake_waiting();
}

}  // namespace exs::rpc
