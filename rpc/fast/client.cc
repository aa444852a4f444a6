// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "rpc/channel/clock.h"
#include "rpc/channel/process.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/error_text.h"

namespace exs::rpc {
namespace {

// After this much silence the client checks the connection before a call uses it: the server may have ended.
constexpr std::int64_t kSilenceNs = 1'000'000;

const char* name_of(const Call& call) {
  return call.procedure->name;
}

int refuse_argument(int error, const char* procedure) {
  if (error == EINVAL)
    return refuse(error, "%s: an argument has a NULL, or a value that its type does not have", procedure);
  if (error == EMSGSIZE)
    return refuse(error, "%s: an argument has more elements than the interface or the server allows",
                  procedure);
  return refuse(error, "%s: no memory for its arguments", procedure);
}

}  // namespace

Client::Client(const ServerAddress& server, const exs_rpc_interface_t& interface,
               const ClientSettings& settings)
    : server_(server), interface_(interface), settings_(settings) {
  for (std::uint32_t i = 0; i < kSlotsMax; ++i) slots_[i].sequence = i;
}

Client::Section::~Section() {
  while (client_.ended_ != nullptr) {
    Call& call = *std::exchange(client_.ended_, client_.ended_->next_ended);
    const auto ended = std::exchange(call.ended, nullptr);
    void* const user = call.user;
    next_ = std::exchange(client_.telling_, this);
    lock.unlock();
    ended(user);
    if (!has_client_) return;
    lock.lock();
    Section** place = &client_.telling_;
    while (*place != this) place = &(*place)->next_;
    *place = next_;
  }
}

// One-way calls must not be lost.
Client::~Client() {
  Lock lock(mutex_);
  for (Section* section = telling_; section != nullptr; section = section->next_)
    section->has_client_ = false;
  const std::int64_t end_ns = now_ns() + settings_.call_ns;
  const auto is_oneway = [](const Slot& slot) {
    return slot.call != nullptr && (slot.call->procedure->flags & EXS_RPC_ONEWAY) != 0;
  };
  while (has_own_queue() && binding_ != nullptr && !is_broken_ && is_own_process() &&
         std::any_of(slots_.begin(), slots_.end(), is_oneway))
    if (!look(lock, end_ns)) break;
}

int Client::connect(std::int64_t limit_ns) {
  const std::int64_t connect_ns = std::min(limit_ns, settings_.connect_ns);
  const BindingWish wish{settings_.slots, settings_.longest, settings_.window, {settings_.queue, this}};
  binding_ = ClientBinding::make(server_, interface_, wish, connect_ns);
  is_broken_ = owes_receive_ = false;
  active_ns_ = now_ns();
  return binding_ == nullptr ? -1 : 0;
}

int Client::call(std::uint32_t procedure, const void* argument, void* result, exs_rpc_context_t* context) {
  const std::int64_t start_ns = now_ns();
  const bool has_time = context != nullptr && context->timeout_ns > 0;
  const std::int64_t end_ns = start_ns + (has_time ? context->timeout_ns : settings_.call_ns);
  const Wish wish{procedure, argument, result, context, start_ns, end_ns, has_own_queue()};
  if (const int error = check(wish); error != 0) return error;
  const exs_rpc_procedure_t& called = interface_.procedures[procedure];
  if (!has_own_queue() && (called.flags & EXS_RPC_ONEWAY) == 0)
    return refuse(EINVAL, "%s: the client is on a queue of the program's: begin the call, and wait there",
                  called.name);
  Section section(*this);
  Lock& lock = section.lock;
  const bool is_idempotent = (called.flags & EXS_RPC_IDEMPOTENT) != 0;
  for (int tries = is_idempotent ? 2 : 1;; --tries) {
    exs_rpc_call* const call = start(wish, lock);
    if (call == nullptr) return -1;
    if (!call->has_owner) return 0;  // one-way
    wait(*call, lock, start_ns);
    if (call->error == ECONNRESET && tries > 1) {
      call->has_owner = false;
      recycle(*call);
      continue;
    }
    return tell(*call, result);
  }
}

exs_rpc_call* Client::begin(std::uint32_t procedure, const void* argument, exs_rpc_context_t* context) {
  const std::int64_t start_ns = now_ns();
  const bool has_time = context != nullptr && context->timeout_ns > 0;
  const std::int64_t end_ns = start_ns + (has_time ? context->timeout_ns : settings_.call_ns);
  const Wish wish{procedure, argument, nullptr, context, start_ns, end_ns, false};
  if (check(wish) != 0) return nullptr;
  if ((interface_.procedures[procedure].flags & EXS_RPC_ONEWAY) != 0) {
    refuse(EINVAL, "%s: a one-way call has no end: call it", interface_.procedures[procedure].name);
    return nullptr;
  }
  Section section(*this);
  return start(wish, section.lock);
}

int Client::end(Call& call, void* result) {
  Section section(*this);
  if (!has_own_queue() && !call.has_ended)
    return refuse(EAGAIN, "%s: the call has not ended: exs_rpc_on_end() tells when", name_of(call));
  wait(call, section.lock, now_ns());
  return tell(call, result);
}

bool Client::has_ended(Call& call) {
  Section section(*this);
  if (has_own_queue() && !call.has_ended && !is_watched_) look_for(section.lock, 0);
  if (!call.has_ended && call.end_ns <= now_ns()) give_up(call, ETIMEDOUT);
  return call.has_ended;
}

void Client::cancel(Call& call) {
  const Section section(*this);
  if (call.has_ended) return;
  give_up(call, ECANCELED);
  wake_waiting();
}

void Client::on_end(Call& call, void (*ended)(void* user), void* user) {
  const Section section(*this);
  forget_end(call);
  call.ended = ended;
  call.user = user;
  if (call.has_ended) note_end(call);
}

void Client::note_end(Call& call) {
  if (call.ended != nullptr) call.next_ended = std::exchange(ended_, &call);
}

void Client::forget_end(Call& call) {
  if (call.ended == nullptr) return;
  call.ended = nullptr;
  for (Call** place = &ended_; *place != nullptr; place = &(*place)->next_ended) {
    if (*place != &call) continue;
    *place = call.next_ended;
    return;
  }
}

bool Client::take_event(const exs_event_t& event) {
  if (event.exs_evt_ahandle != this) return false;
  const Section section(*this);
  if (binding_ == nullptr || is_broken_ || event.exs_evt_socket != binding_->link().socket()) return true;
  take(event);
  if (std::exchange(owes_receive_, false) && !is_broken_ && !binding_->link().receive_next())
    lose_binding(errno);
  return true;
}

exs_rpc_client_info_t Client::info() {
  const Lock lock(mutex_);
  exs_rpc_client_info_t info{};
  if (binding_ == nullptr || is_broken_) return info;
  Link& link = binding_->link();
  socklen_t length = sizeof info.provider;
  exs_getsockopt(link.socket(), SOL_EXS, EXS_SO_PROVIDER, info.provider, &length);
  info.slots = binding_->slots();
  info.mapped = binding_->window() != nullptr ? 1 : 0;
  info.bytes_sent = link.sent_bytes;
  info.bytes_received = link.received_bytes;
  return info;
}

int Client::check(const Wish& wish) const {
  if (wish.context != nullptr) {
    wish.context->outcome = EXS_RPC_NOT_EXECUTED;
    wish.context->remote_status = 0;
    wish.context->server_us = 0;
    if (wish.context->timeout_ns < 0 || (wish.context->flags & ~(EXS_RPC_IN_PLACE | EXS_RPC_TIMED)) != 0)
      return refuse(EINVAL, "%s: a time or flag of the context: set it to zero first", interface_.name);
  }
  if (wish.procedure >= interface_.procedures_count)
    return refuse(EINVAL, "%s has %u procedures, not %u: use its stubs", interface_.name,
                  interface_.procedures_count, wish.procedure + 1);
  const exs_rpc_procedure_t& procedure = interface_.procedures[wish.procedure];
  if (procedure.argument != nullptr && wish.argument == nullptr)
    return refuse(EINVAL, "%s: no argument", procedure.name);
  if (procedure.result != nullptr && wish.may_wait && wish.result == nullptr)
    return refuse(EINVAL, "%s: no room for its result", procedure.name);
  if (!is_own_process())
    return refuse(EOPNOTSUPP,
                  "%s: a child of fork has no exs of its parent: fork before, or execute a program",
                  procedure.name);
  return 0;
}

// Returns a call that has been sent, or NULL with errno.
exs_rpc_call* Client::start(const Wish& wish, Lock& lock) {
  const exs_rpc_procedure_t& procedure = interface_.procedures[wish.procedure];
  for (int tries = 2;; --tries) {
    if (ensure_binding(lock, wish) != 0) return nullptr;
    switch (binding_->verdict(wish.procedure)) {
      case Verdict::kCallable: break;
      case Verdict::kAbsent: refuse(ENOSYS, "the server does not have %s", procedure.name); return nullptr;
      default:
        refuse(EPROTONOSUPPORT,
               "the server has %s with other types: make the stubs of both from one interface",
               procedure.name);
        return nullptr;
    }
    int error = 0;
    exs_rpc_call* call = start_now(wish, error);
    if (call == nullptr && error == EAGAIN && !wish.may_wait) call = queue(wish, error);
    if (call != nullptr) return call;
    if (error == EAGAIN && wish.may_wait) {
      const bool has_room = wait_for_room(wish, lock);
      if (!has_room && (!is_broken_ || tries == 1)) return nullptr;
      if (has_room) ++tries;
    } else if (error == EAGAIN) {
      refuse(EAGAIN, "%s: %u calls are under way: end one, or ask for more slots", procedure.name,
             binding_->slots());
      return nullptr;
    } else if (!is_broken_) {
      refuse_argument(error, procedure.name);
      return nullptr;
    } else if (tries == 1) {  // nothing has left, so a second binding has been tried
      refuse(ECONNRESET, "%s: the connection broke: %s", procedure.name, std::strerror(error));
      return nullptr;
    }
  }
}

int Client::ensure_binding(Lock& lock, const Wish& wish) {
  if (!has_own_queue()) {
    if (!is_broken_) return 0;
    return refuse(ECONNRESET, "%s: the connection broke: open another client", interface_.name);
  }
  const auto is_silent = [&] {
    return wish.start_ns - active_ns_ > kSilenceNs && !is_watched_ && !is_broken_;
  };
  if (binding_ != nullptr && is_silent()) look_for(lock, 0);
  if (binding_ != nullptr && !is_broken_) {
    active_ns_ = wish.start_ns;
    return 0;
  }
  while (is_watched_) look(lock, wish.end_ns);  // another thread is about to see the end
  if (binding_ != nullptr && !is_broken_) return 0;
  binding_.reset();
  return connect(std::max<std::int64_t>(wish.end_ns - now_ns(), 1));
}

void Client::wait(Call& call, Lock& lock, std::int64_t time_ns) {
  for (; !call.has_ended; time_ns = now_ns())
    if (!look_for(lock, std::max<std::int64_t>(call.end_ns - time_ns, 0)) && !call.has_ended)
      give_up(call, ETIMEDOUT);
}

bool Client::look(Lock& lock, std::int64_t end_ns) {
  return look_for(lock, std::max<std::int64_t>(end_ns - now_ns(), 0));
}

bool Client::look_for(Lock& lock, std::int64_t left_ns) {
  if (is_watched_) {
    ++waiting_;
    const auto told = progress_.wait_for(lock, std::chrono::nanoseconds(left_ns));
    --waiting_;
    return told == std::cv_status::no_timeout;
  }
  if (std::exchange(owes_receive_, false) && !is_broken_ && !binding_->link().receive_next())
    lose_binding(errno);
  is_watched_ = true;
  is_woken_ = false;
  lock.unlock();
  constexpr std::size_t kEvents = 16;
  std::array<exs_event_t, kEvents> events;
  const int count = binding_->wait(events, left_ns);
  const int error = errno;
  lock.lock();
  is_watched_ = false;
  for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)]);
  const bool has_replies = take_replies();
  if (count < 0 && error != EINTR) lose_binding(error);
  if (waiting_ > 0) progress_.notify_all();
  return count != 0 || has_replies;
}

// Calls have ended without an event of the connection: their threads check again. One event is enough for the thread that watches.
void Client::wake_waiting() {
  if (is_watched_ && !std::exchange(is_woken_, true)) binding_->wake();
  if (waiting_ > 0) progress_.notify_all();
}

void Client::take(const exs_event_t& event) {
  if (is_broken_) return;
  const ClientWindow* const window = binding_->window();
  if (window != nullptr && event.exs_evt_socket == window->socket()) {
    if (ClientWindow::is_end(event)) lose_binding(ECONNRESET);
    return;
  }
  Link& link = binding_->link();
  if (event.exs_evt_socket != link.socket()) return;  // of a window that could not be made
  switch (link.take(event)) {
    case Link::News::kNothing: break;
    case Link::News::kEnd: lose_binding(link.error()); break;
    case Link::News::kMessage:
      owes_receive_ = true;
      if (link.type() != FrameType::kMessage || !take_reply(link.received())) lose_binding(EPROTO);
  }
}

// Takes the replies in the window. Returns false if there was none.
bool Client::take_replies() {
  ClientWindow* const window = is_broken_ ? nullptr : binding_->window();
  if (window == nullptr) return false;
  bool is_any = false;
  for (;;) {
    const auto message = window->receive();
    if (message.empty()) return is_any;
    is_any = true;
    binding_->link().received_bytes += message.size();
    if (take_reply(message)) continue;
    lose_binding(EPROTO);
    return true;
  }
}

// Returns false if the server broke the protocol.
bool Client::take_reply(std::span<const std::byte> message) {
  Header header;
  if (!get_header(message, header) || header.kind != Kind::kReply) return false;
  const std::uint32_t slot = header.sequence % kSlotsMax;
  if (slot >= binding_->slots()) return false;
  if (slots_[slot].call == nullptr || slots_[slot].sequence != header.sequence) return false;
  Call& call = *slots_[slot].call;
  if (!call.has_ended) finish(call, header, message.subspan(kHeaderBytes));
  const bool is_good = call.error != EPROTO;
  leave_slot(call);
  if (is_good) send_queued();
  return is_good;
}

// The slot stays taken until the reply has arrived.
void Client::give_up(Call& call, int error) {
  conclude(call, error, call.is_queued ? EXS_RPC_NOT_EXECUTED : EXS_RPC_UNKNOWN);
  if (call.slot == kNoSlot || is_broken_ || (call.procedure->flags & EXS_RPC_ONEWAY) != 0) return;
  Header header;
  header.sequence = call.sequence;
  header.kind = Kind::kCancel;
  if (!binding_->link().send_frame(FrameType::kMessage, bytes_of(header))) lose_binding(errno);
}

void Client::conclude(Call& call, int error, int outcome) {
  call.has_ended = true;
  call.error = error;
  if (call.context != nullptr) call.context->outcome = outcome;
  note_end(call);
}

void Client::lose_binding(int error) {
  if (is_broken_) return;
  is_broken_ = true;
  binding_->link().break_off();
  const int told = error == EPROTO ? EPROTO : ECONNRESET;
  for (const Slot& slot : slots_) {
    if (slot.call == nullptr) continue;
    Call& call = *slot.call;
    if (!call.has_ended) conclude(call, told, EXS_RPC_UNKNOWN);
    leave_slot(call);
  }
  while (first_queued_ != nullptr) {
    Call& call = take_queued();
    if (!call.has_ended) conclude(call, told, EXS_RPC_NOT_EXECUTED);
    recycle(call);
  }
  wake_waiting();
}

}  // namespace exs::rpc
