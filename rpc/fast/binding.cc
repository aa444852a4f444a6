// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/binding.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/clock.h"
#include "base/refusal.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/outgoing.h"
#include "rpc/fast/server_window.h"

namespace exs::rpc {
namespace {

constexpr std::uint64_t kGreetingNs = 5 * kNsPerSecond;
constexpr std::uint64_t kNsOfMicrosecond = 1000;

// Flat arguments are used in the receive buffer; others are decoded into request memory.
void* place_of(const exs_rpc_type_t* type, std::span<const std::byte> body, RequestArena& arena) {
  if (type == nullptr) return nullptr;
  if (type->kind != EXS_RPC_FLAT) return arena.allocate(type->memory_bytes);
  return body.size() == type->bytes ? const_cast<std::byte*>(body.data()) : arena.allocate(type->bytes);
}

Status decode_argument(const exs_rpc_type_t* type, std::span<const std::byte> body, void* argument,
                       RequestArena& arena) {
  if (type == nullptr) return body.empty() ? Status() : Status(EPROTO);
  if (argument == nullptr) return Status(ENOMEM);
  if (argument == body.data()) return {};
  return decode(*type, body, argument, Placement::kView, &arena);
}

}  // namespace

// A worker's turn, which ends with this object.
class EXS_SCOPED_CAPABILITY Binding::BindingTurn {
 public:
  explicit BindingTurn(Binding& binding) EXS_ACQUIRE(binding.mutex_) : binding_(binding) { binding.enter(); }
  ~BindingTurn() EXS_RELEASE() { binding_.leave(); }
  BindingTurn(const BindingTurn&) = delete;
  BindingTurn& operator=(const BindingTurn&) = delete;

 private:
  Binding& binding_;
};

Binding::Binding(int socket, exs_qhandle_t queue, exs_ahandle_t handle, const ServerParts& server,
                 std::uint64_t now_ns)
    : server_(server), greeted_by_ns_(now_ns + kGreetingNs), link_(socket, queue, handle) {}

// The analysis takes the lock for held in between, as it is for everything that another thread could reach.
void Binding::enter() EXS_NO_THREAD_SAFETY_ANALYSIS {
  if (others_.load(std::memory_order_acquire) == 0) return;
  mutex_.lock();
  has_mutex_ = true;
}

void Binding::leave() EXS_NO_THREAD_SAFETY_ANALYSIS {
  if (!has_mutex_) return;
  has_mutex_ = false;
  mutex_.unlock();
}

Status Binding::start(bool is_full) {
  const BindingTurn turn(*this);
  is_full_ = is_full;
  return link_.start_receiving(server_.settings.longest);
}

void Binding::end() {
  const LockGuard lock(mutex_);
  has_ended_ = true;
  if (token_ != 0) server_.tokens.drop_token(token_);
  for (exs_rpc_request* const one : kept_) one->is_cancelled = true;
  kept_.clear();
  link_.break_off();
}

Status Binding::take_event(const exs_event_t& event, WorkerMemory& memory) {
  const BindingTurn turn(*this);
  switch (link_.take_event(event)) {
    case MessageLink::News::kNothing: return {};
    case MessageLink::News::kEnd: return link_.why_ended();
    case MessageLink::News::kMessage: break;
  }
  const Status taken = take_message(memory);
  return taken.ok() ? link_.receive_next() : taken;
}

Status Binding::take_message(WorkerMemory& memory) {
  switch (greeting_) {
    case GreetingState::kHello: return take_hello();
    case GreetingState::kTable: return take_table(memory);
    case GreetingState::kRefused: return {};
    case GreetingState::kReady: break;
  }
  return link_.type() == FrameType::kMessage ? take_request(link_.received(), memory) : Status(EPROTO);
}

Status Binding::take_hello() {
  ProgramHello hello;
  WindowHello window_hello;
  if (is_window_hello(link_.received(), window_hello)) return hand_over_window(window_hello);
  if (link_.type() != FrameType::kHello || !is_hello(link_.received(), hello)) return Status(EPROTO);
  const ServerWelcome welcome = welcome_for(hello);
  const bool is_welcome = welcome.reason == ServerWelcome::Reason::kNone;
  kGreetingStates.move_state(greeting_, is_welcome ? GreetingState::kTable : GreetingState::kRefused);
  return link_.send_frame(FrameType::kWelcome, bytes_of(welcome));
}

// Finds the interface that the client wants.
ServerWelcome Binding::welcome_for(const ProgramHello& hello) {
  ServerWelcome welcome;
  welcome.reason = ServerWelcome::Reason::kNoProgram;
  for (const ServedInterface& one : server_.services) {
    const exs_rpc_interface_t& interface = *one.service->interface;
    if (interface.program != hello.program) continue;
    welcome.reason = ServerWelcome::Reason::kNoVersion;
    if (interface.version != hello.version) continue;
    service_ = &one;
    welcome.reason = ServerWelcome::Reason::kNone;
    break;
  }
  if (is_full_) welcome.reason = ServerWelcome::Reason::kFull;
  welcome.slots = server_.settings.slots;
  welcome.longest = server_.settings.longest;
  return welcome;
}

Status Binding::take_table(WorkerMemory& memory) {
  CallHeader header;
  const auto message = link_.received();
  if (link_.type() != FrameType::kMessage || !get_header(message, header) ||
      header.kind != CallMessage::kTable ||
      !match(message.subspan(kHeaderBytes), *service_->service->interface, match_))
    return Status(EPROTO);
  if (const Status made = memory_.allocate(server_.settings.slots); !made.ok()) return made;
  const std::size_t count = match_.verdicts.size();
  if (!memory.message.reserve(kHeaderBytes + count)) return Status(ENOMEM);
  header.length = static_cast<std::uint32_t>(count);
  put_header(header, memory.message.message());
  std::transform(match_.verdicts.begin(), match_.verdicts.end(), memory.message.message() + kHeaderBytes,
                 [](ProcedureVerdict verdict) { return static_cast<std::byte>(verdict); });
  kGreetingStates.move_state(greeting_, GreetingState::kReady);
  return link_.send_copied(memory.message, kHeaderBytes + count);
}

// This connection belongs to a window and has no client of its own, so this binding ends.
Status Binding::hand_over_window(const WindowHello& hello) {
  const std::shared_ptr<Binding> client = server_.tokens.take_token(hello.token);
  if (client == nullptr) return Status(EPROTO);
  if (client->server_.host.adopt_window(link_.socket(), client)) link_.release_socket();
  return Status(ECANCELED);
}

Status Binding::answer_window_wish(WorkerMemory& memory) {
  if (token_ != 0) return Status(EPROTO);
  token_ = server_.tokens.make_token(weak_from_this());
  if (!memory.message.reserve(kHeaderBytes + sizeof token_)) return Status(ENOMEM);
  CallHeader header;
  header.kind = CallMessage::kWindow;
  header.length = token_ == 0 ? 0 : sizeof token_;
  put_header(header, memory.message.message());
  std::memcpy(memory.message.message() + kHeaderBytes, &token_, sizeof token_);
  return link_.send_copied(memory.message, kHeaderBytes + header.length);
}

bool Binding::attach_window(ServerWindow& window) {
  const LockGuard lock(mutex_);
  if (has_ended_ || window_ != nullptr) return false;
  window_ = &window;
  return true;
}

void Binding::detach_window(const ServerWindow& window) {
  const LockGuard lock(mutex_);
  if (window_ == &window) window_ = nullptr;
}

Status Binding::take_call(std::span<const std::byte> message, WorkerMemory& memory) {
  const BindingTurn turn(*this);
  return has_ended_ ? Status(ECONNRESET) : take_request(message, memory);
}

Status Binding::take_request(std::span<const std::byte> message, WorkerMemory& memory) {
  CallHeader header;
  if (!get_header(message, header)) return Status(EPROTO);
  if (header.kind == CallMessage::kCancel) return take_cancel(header);
  if (header.kind == CallMessage::kWindow) return answer_window_wish(memory);
  if (header.kind != CallMessage::kCall || header.procedure >= match_.verdicts.size() ||
      match_.verdicts[header.procedure] != ProcedureVerdict::kCallable || !use_slot(header.sequence))
    return Status(EPROTO);
  return serve(header, message.subspan(kHeaderBytes), memory);
}

// Returns false if the slot's last call is unanswered, or if there is no such slot.
bool Binding::use_slot(std::uint32_t sequence) {
  const std::uint32_t slot = sequence % kSlotsMax;
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if (slot >= server_.settings.slots || (busy_slots_ & bit) != 0) return false;
  busy_slots_ |= bit;
  if (window_ != nullptr) window_->note_slot(slot);
  return true;
}

// The slot of a call that use_slot() has accepted, so it is busy until the one reply.
void Binding::free_slot(std::uint32_t slot) {
  const std::uint64_t bit = std::uint64_t{1} << slot;
  EXS_CHECK(slot < server_.settings.slots && (busy_slots_ & bit) != 0);
  busy_slots_ &= ~bit;
}

Status Binding::take_cancel(const CallHeader& header) {
  for (exs_rpc_request* const one : kept_)
    if (one->sequence == header.sequence) one->is_cancelled = true;
  return header.length == 0 ? Status() : Status(EPROTO);
}

Status Binding::serve(const CallHeader& header, std::span<const std::byte> body, WorkerMemory& memory) {
  exs_rpc_request request;
  request.binding = this;
  request.user = service_->user;
  request.arena = &memory.arena;
  request.sequence = header.sequence;
  request.arrived_ns = memory.arrived_ns;
  if (header.micros != 0) request.end_ns = request.arrived_ns + header.micros * kNsOfMicrosecond;
  request.is_timed = header.is_timed != 0;
  leave();
  memory.arena.reset();
  const ReplyValue value = run(request, match_.places[header.procedure], body, memory);
  enter();
  if (request.is_kept) return {};
  if (value.status == ReplyStatus::kBad) return Status(EPROTO);
  const Status sent = send_reply(request, value, memory.message);
  return sent == Status(ECONNRESET) ? sent : Status();
}

// Runs without the lock.
Binding::ReplyValue Binding::run(exs_rpc_request& request, std::uint16_t place,
                                 std::span<const std::byte> body, WorkerMemory& memory) {
  const exs_rpc_procedure_t& procedure = service_->service->interface->procedures[place];
  request.procedure = &procedure;
  if (!memory.is_fresh && request.end_ns < monotonic_ns()) return {ReplyStatus::kOverdue, nullptr, nullptr};
  void* const argument = place_of(procedure.argument, body, memory.arena);
  const Status decoded = decode_argument(procedure.argument, body, argument, memory.arena);
  if (decoded == Status(EPROTO)) return {ReplyStatus::kBad, nullptr, nullptr};
  const bool is_inout = (procedure.flags & EXS_RPC_INOUT) != 0;
  void* const result = is_inout || procedure.result == nullptr
                           ? argument
                           : memory.arena.allocate(procedure.result->memory_bytes);
  if (!decoded.ok() || (procedure.result != nullptr && result == nullptr))
    return {ReplyStatus::kNoMemory, nullptr, nullptr};
  request.status = service_->service->serve[place](argument, result, &request);
  if (request.status != 0) return failure_of(request);
  return {ReplyStatus::kOk, procedure.result, result};
}

Binding::ReplyValue Binding::failure_of(const RpcRequest& request) {
  static const exs_rpc_type_t number = {EXS_RPC_FLAT, 4, 0, 0, 4, 4, 0, nullptr, nullptr, 0};
  return {ReplyStatus::kFailed, &number, &request.status};
}

Status Binding::reply(RpcRequest& request, int status, const void* result, MessageBuffer& buffer) {
  request.status = status;
  const ReplyValue value =
      status != 0 ? failure_of(request) : ReplyValue{ReplyStatus::kOk, request.procedure->result, result};
  const LockGuard lock(mutex_);
  return has_ended_ ? Status(ECONNRESET) : send_reply(request, value, buffer);
}

Status Binding::send_reply(const RpcRequest& request, const ReplyValue& reply, MessageBuffer& buffer) {
  const std::uint32_t slot = request.sequence % kSlotsMax;
  OutgoingMessage message(memory_, slot, buffer);
  ReplyStatus status = reply.status;
  std::size_t bytes = kHeaderBytes;
  Status encoded;
  if (reply.type != nullptr) {
    constexpr std::size_t kLongest = std::size_t{1} << 30U;
    encoded = encode(*reply.type, reply.value, message, kHeaderBytes, kLongest, bytes);
    if (!encoded.ok()) {
      status = ReplyStatus::kNoResult;
      bytes = kHeaderBytes;
      message.restart();
    }
  }
  CallHeader header;
  header.sequence = request.sequence;
  header.length = static_cast<std::uint32_t>(bytes - kHeaderBytes);
  header.procedure = static_cast<std::uint16_t>(status);
  header.kind = CallMessage::kReply;
  if (request.is_timed) {
    header.is_timed = 1;
    header.micros = static_cast<std::uint32_t>((monotonic_ns() - request.arrived_ns) / kNsOfMicrosecond);
  }
  put_header(header, message.message());
  free_slot(slot);
  const Status sent = window_ != nullptr && window_->has_slot(slot) && !message.is_long()
                          ? window_->send_reply(slot, message.message(), bytes)
                          : message.send(link_, bytes);
  return sent.ok() ? encoded : Status(ECONNRESET);
}

exs_rpc_request* Binding::keep(RpcRequest& request) {
  auto kept = std::make_unique<exs_rpc_request>();
  kept->binding = this;
  kept->owned_binding = shared_from_this();
  kept->procedure = request.procedure;
  kept->user = request.user;
  kept->sequence = request.sequence;
  kept->arrived_ns = request.arrived_ns;
  kept->end_ns = request.end_ns;
  kept->is_timed = request.is_timed;
  const LockGuard lock(mutex_);
  kept_.push_back(kept.get());
  others_.fetch_add(1, std::memory_order_relaxed);
  request.is_kept = true;
  return kept.release();
}

void Binding::forget(const exs_rpc_request* kept) {
  const LockGuard lock(mutex_);
  kept_.erase(std::remove(kept_.begin(), kept_.end(), kept), kept_.end());
}

void Binding::release_kept() {
  const std::uint32_t before = others_.fetch_sub(1, std::memory_order_release);
  EXS_CHECK(before > 0);
}

Status Binding::get_peer(sockaddr* address, socklen_t* length) {
  const LockGuard lock(mutex_);
  if (has_ended_) return refuse(ENOTCONN, "the client is gone");
  return kernel_status(exs_getpeername(link_.socket(), address, length));
}

}  // namespace exs::rpc
