// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/binding.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "rpc/channel/clock.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/error_text.h"
#include "rpc/fast/server_window.h"

namespace exs::rpc {
namespace {

constexpr std::int64_t kGreetingNs = 5'000'000'000;
constexpr std::int64_t kNsOfMicrosecond = 1000;

// Flat arguments are used in the receive buffer; others are decoded into request memory.
void* place_of(const exs_rpc_type_t* type, std::span<const std::byte> body, Arena& arena) {
  if (type == nullptr) return nullptr;
  if (type->kind != EXS_RPC_FLAT) return arena.take(type->memory_bytes);
  return body.size() == type->bytes ? const_cast<std::byte*>(body.data()) : arena.take(type->bytes);
}

int decode_argument(const exs_rpc_type_t* type, std::span<const std::byte> body, void* argument,
                    Arena& arena) {
  if (type == nullptr) return body.empty() ? 0 : EPROTO;
  if (argument == nullptr) return ENOMEM;
  if (argument == body.data()) return 0;
  return decode(*type, body, argument, Placement::kView, &arena);
}

}  // namespace

Binding::Binding(int socket, exs_qhandle_t queue, exs_ahandle_t handle, const Site& site, std::int64_t now_ns)
    : link_(socket, queue, handle), site_(site), greeted_by_ns_(now_ns + kGreetingNs) {}

bool Binding::begin(bool is_full) {
  is_full_ = is_full;
  return link_.begin(site_.settings.longest);
}

void Binding::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  if (token_ != 0) site_.tokens.drop(token_);
  for (exs_rpc_request* const one : kept_) one->is_cancelled = true;
  kept_.clear();
  link_.break_off();
}

Binding::Lock Binding::hold() {
  return others_.load(std::memory_order_acquire) == 0 ? Lock() : Lock(mutex_);
}

bool Binding::take(const exs_event_t& event, Workshop& workshop) {
  Lock lock = hold();
  switch (link_.take(event)) {
    case Link::News::kNothing: return true;
    case Link::News::kEnd: return false;
    case Link::News::kMessage: return take_message(workshop, lock) && link_.receive_next();
  }
  return false;
}

bool Binding::take_message(Workshop& workshop, Lock& lock) {
  switch (state_) {
    case State::kHello: return take_hello();
    case State::kTable: return take_table(workshop);
    case State::kReady: break;
  }
  return link_.type() == FrameType::kMessage && take_request(link_.received(), workshop, lock);
}

bool Binding::take_hello() {
  Hello hello;
  WindowHello window_hello;
  if (is_window_hello(link_.received(), window_hello)) return hand_over_window(window_hello);
  if (link_.type() != FrameType::kHello || !is_hello(link_.received(), hello)) return false;
  Welcome welcome;
  welcome.reason = Welcome::Reason::kNoProgram;
  for (const Service& one : site_.services) {
    const exs_rpc_interface_t& interface = *one.service->interface;
    if (interface.program != hello.program) continue;
    welcome.reason = Welcome::Reason::kNoVersion;
    if (interface.version != hello.version) continue;
    service_ = &one;
    break;
  }
  if (service_ != nullptr) welcome.reason = Welcome::Reason::kNone;
  if (is_full_) welcome.reason = Welcome::Reason::kFull;
  welcome.slots = site_.settings.slots;
  welcome.longest = site_.settings.longest;
  state_ = State::kTable;
  return link_.send_frame(FrameType::kWelcome, bytes_of(welcome));
}

bool Binding::take_table(Workshop& workshop) {
  if (service_ == nullptr || is_full_) return true;  // the client reads the reason and closes
  Header header;
  const auto message = link_.received();
  if (link_.type() != FrameType::kMessage || !get_header(message, header) || header.kind != Kind::kTable ||
      !match(message.subspan(kHeaderBytes), *service_->service->interface, match_) ||
      !memory_.allocate(site_.settings.slots))
    return false;
  const std::size_t count = match_.verdicts.size();
  if (!workshop.message.reserve(kHeaderBytes + count)) return false;
  header.length = static_cast<std::uint32_t>(count);
  put_header(header, workshop.message.message());
  std::transform(match_.verdicts.begin(), match_.verdicts.end(), workshop.message.message() + kHeaderBytes,
                 [](Verdict verdict) { return static_cast<std::byte>(verdict); });
  state_ = State::kReady;
  return link_.send_copied(workshop.message, kHeaderBytes + count);
}

// This connection belongs to a window and has no client of its own.
bool Binding::hand_over_window(const WindowHello& hello) {
  const std::shared_ptr<Binding> client = site_.tokens.take(hello.token);
  if (client == nullptr) return false;
  const int socket = link_.socket();
  if (client->site_.host.adopt_window(socket, client)) link_.release();
  return false;
}

bool Binding::take_window_wish(Workshop& workshop) {
  if (token_ != 0) return false;
  token_ = site_.tokens.give(weak_from_this());
  if (!workshop.message.reserve(kHeaderBytes + sizeof token_)) return false;
  Header header;
  header.kind = Kind::kWindow;
  header.length = token_ == 0 ? 0 : sizeof token_;
  put_header(header, workshop.message.message());
  std::memcpy(workshop.message.message() + kHeaderBytes, &token_, sizeof token_);
  return link_.send_copied(workshop.message, kHeaderBytes + header.length);
}

bool Binding::attach(ServerWindow& window) {
  const std::lock_guard lock(mutex_);
  if (has_ended_ || window_ != nullptr) return false;
  window_ = &window;
  return true;
}

void Binding::detach(const ServerWindow& window) {
  const std::lock_guard lock(mutex_);
  if (window_ == &window) window_ = nullptr;
}

bool Binding::take_call(std::span<const std::byte> message, Workshop& workshop) {
  Lock lock = hold();
  return !has_ended_ && take_request(message, workshop, lock);
}

bool Binding::take_request(std::span<const std::byte> message, Workshop& workshop, Lock& lock) {
  Header header;
  if (!get_header(message, header)) return false;
  if (header.kind == Kind::kCancel) return take_cancel(header);
  if (header.kind == Kind::kWindow) return take_window_wish(workshop);
  if (header.kind != Kind::kCall || header.procedure >= match_.verdicts.size() ||
      match_.verdicts[header.procedure] != Verdict::kCallable || !use_slot(header.sequence))
    return false;
  return serve(header, message.subspan(kHeaderBytes), workshop, lock);
}

// Returns false if the slot's last call is unanswered, or if there is no such slot.
bool Binding::use_slot(std::uint32_t sequence) {
  const std::uint32_t slot = sequence % kSlotsMax;
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if (slot >= site_.settings.slots || (busy_slots_ & bit) != 0) return false;
  busy_slots_ |= bit;
  if (window_ != nullptr) window_->note_slot(slot);
  return true;
}

bool Binding::take_cancel(const Header& header) {
  for (exs_rpc_request* const one : kept_)
    if (one->sequence == header.sequence) one->is_cancelled = true;
  return header.length == 0;
}

bool Binding::serve(const Header& header, std::span<const std::byte> body, Workshop& workshop, Lock& lock) {
  exs_rpc_request request;
  request.binding = this;
  request.user = service_->user;
  request.arena = &workshop.arena;
  request.sequence = header.sequence;
  request.arrived_ns = workshop.arrived_ns;
  request.end_ns = header.micros == 0 ? INT64_MAX : request.arrived_ns + header.micros * kNsOfMicrosecond;
  request.is_timed = header.is_timed != 0;
  lock = Lock();
  workshop.arena.reset();
  const Result result = run(request, match_.places[header.procedure], body, workshop);
  lock = hold();
  if (request.is_kept) return true;
  return result.status != Status::kBad && send_reply(request, result, workshop.message) != ECONNRESET;
}

// Runs without the lock.
Binding::Result Binding::run(exs_rpc_request& request, std::uint16_t place, std::span<const std::byte> body,
                             Workshop& workshop) {
  const exs_rpc_procedure_t& procedure = service_->service->interface->procedures[place];
  request.procedure = &procedure;
  if (!workshop.is_fresh && request.end_ns < now_ns()) return {Status::kOverdue, nullptr, nullptr};
  void* const argument = place_of(procedure.argument, body, workshop.arena);
  const int error = decode_argument(procedure.argument, body, argument, workshop.arena);
  if (error == EPROTO) return {Status::kBad, nullptr, nullptr};
  const bool is_inout = (procedure.flags & EXS_RPC_INOUT) != 0;
  void* const result = is_inout || procedure.result == nullptr
                           ? argument
                           : workshop.arena.take(procedure.result->memory_bytes);
  if (error != 0 || (procedure.result != nullptr && result == nullptr))
    return {Status::kNoMemory, nullptr, nullptr};
  request.told = service_->service->serve[place](argument, result, &request);
  if (request.told != 0) return failure_of(request);
  return {Status::kOk, procedure.result, result};
}

Binding::Result Binding::failure_of(const Request& request) {
  static const exs_rpc_type_t number = {EXS_RPC_FLAT, 4, 0, 0, 4, 4, 0, nullptr, nullptr, 0};
  return {Status::kFailed, &number, &request.told};
}

int Binding::reply(Request& request, int status, const void* result, MessageBuffer& buffer) {
  request.told = status;
  const Result told =
      status != 0 ? failure_of(request) : Result{Status::kOk, request.procedure->result, result};
  const Lock lock(mutex_);
  return has_ended_ ? ECONNRESET : send_reply(request, told, buffer);
}

int Binding::send_reply(const Request& request, const Result& result, MessageBuffer& buffer) {
  const std::uint32_t slot = request.sequence % kSlotsMax;
  Outgoing message(memory_, slot, buffer);
  Status status = result.status;
  std::size_t bytes = kHeaderBytes;
  int error = 0;
  if (result.type != nullptr) {
    constexpr std::size_t kLongest = std::size_t{1} << 30U;
    error = encode(*result.type, result.value, message, kHeaderBytes, kLongest, bytes);
    if (error != 0) {
      status = Status::kNoResult;
      bytes = kHeaderBytes;
      message.restart();
    }
  }
  Header header;
  header.sequence = request.sequence;
  header.length = static_cast<std::uint32_t>(bytes - kHeaderBytes);
  header.procedure = static_cast<std::uint16_t>(status);
  header.kind = Kind::kReply;
  if (request.is_timed) {
    header.is_timed = 1;
    header.micros = static_cast<std::uint32_t>((now_ns() - request.arrived_ns) / kNsOfMicrosecond);
  }
  put_header(header, message.message());
  busy_slots_ &= ~(std::uint64_t{1} << slot);
  const bool is_sent = window_ != nullptr && window_->has(slot) && !message.is_long()
                           ? window_->reply(slot, message.message(), bytes)
                           : message.send(link_, bytes);
  return is_sent ? error : ECONNRESET;
}

exs_rpc_request* Binding::keep(Request& request) {
  auto kept = std::make_unique<exs_rpc_request>();
  kept->binding = this;
  kept->owned_binding = shared_from_this();
  kept->procedure = request.procedure;
  kept->user = request.user;
  kept->sequence = request.sequence;
  kept->arrived_ns = request.arrived_ns;
  kept->end_ns = request.end_ns;
  kept->is_timed = request.is_timed;
  const std::lock_guard lock(mutex_);
  kept_.push_back(kept.get());
  others_.fetch_add(1, std::memory_order_relaxed);
  request.is_kept = true;
  return kept.release();
}

void Binding::forget(const exs_rpc_request* kept) {
  const std::lock_guard lock(mutex_);
  kept_.erase(std::remove(kept_.begin(), kept_.end(), kept), kept_.end());
}

int Binding::peer(sockaddr* address, socklen_t* length) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return refuse(ENOTCONN, "the client is gone");
  return exs_getpeername(link_.socket(), address, length);
}

}  // namespace exs::rpc
