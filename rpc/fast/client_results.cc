// Turns a reply into the result and the outcome of a call.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "rpc/fast/client.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/named_refusal.h"

namespace exs::rpc {
namespace {

Status outcome_text(int error, const exs_rpc_procedure_t& procedure) {
  switch (error) {
    case 0: return {};
    case ETIMEDOUT: return refuse_named(error, procedure.name, "not answered in time");
    case ECANCELED: return refuse_named(error, procedure.name, "cancelled");
    case EREMOTEIO:
      return refuse_named(error, procedure.name,
                          "the procedure failed, and remote_status of the context tells how");
    case EMSGSIZE:
      return refuse_named(error, procedure.name,
                          "its result is longer than the server may send, or than the memory it is to go to");
    case EPROTO: return refuse_named(error, procedure.name, "the server does not keep to the protocol");
    default: return refuse_named(error, procedure.name, std::strerror(error));
  }
}

}  // namespace

void Client::finish_call(ClientCall& call, const CallHeader& header, std::span<const std::byte> body) {
  if (call.context != nullptr && header.is_timed != 0) call.context->server_us = header.micros;
  const CallOutcome read = read_outcome(call, header, body);
  conclude(call, CallState::kInSlotOver, read);
}

CallOutcome Client::read_outcome(ClientCall& call, const CallHeader& header,
                                 std::span<const std::byte> body) {
  switch (static_cast<ReplyStatus>(header.procedure)) {
    case ReplyStatus::kOk: return {place_result(call, body, call.result), EXS_RPC_EXECUTED};
    case ReplyStatus::kFailed: {
      std::int32_t status = 0;
      if (!read_words(body, status)) return {Status(EPROTO), EXS_RPC_UNKNOWN};
      if (call.context != nullptr) call.context->remote_status = status;
      return {Status(EREMOTEIO), EXS_RPC_EXECUTED};
    }
    case ReplyStatus::kOverdue: return {Status(ETIMEDOUT), EXS_RPC_NOT_EXECUTED};
    case ReplyStatus::kNoMemory: return {Status(ENOMEM), EXS_RPC_NOT_EXECUTED};
    case ReplyStatus::kNoResult: return {Status(EMSGSIZE), EXS_RPC_EXECUTED};
    default: return {Status(EPROTO), EXS_RPC_UNKNOWN};
  }
}

// Decodes the result at once if the caller waits for it, else in end_call().
Status Client::place_result(ClientCall& call, std::span<const std::byte> body, void* result) {
  const exs_rpc_type_t* const type = call.procedure->result;
  if (type == nullptr) return body.empty() ? Status() : Status(EPROTO);
  if (result != nullptr)
    return decode(*type, body, result, call.is_in_place ? Placement::kInPlace : Placement::kCopy, nullptr);
  call.reply_bytes = body.size();
  const bool is_of_link = binding_->link().received().data() + kHeaderBytes == body.data();
  if (is_of_link && binding_->link().take_body(call.reply)) return {};
  if (!call.reply.reserve(kHeaderBytes + body.size())) return Status(ENOMEM);
  std::memcpy(call.reply.message() + kHeaderBytes, body.data(), body.size());
  return {};
}

Status Client::report_outcome(ClientCall& call, void* result) {
  Status outcome = call.outcome;
  const exs_rpc_procedure_t& procedure = *call.procedure;
  if (outcome.ok() && call.result == nullptr && procedure.result != nullptr && result != nullptr) {
    const std::span<const std::byte> body(call.reply.message() + kHeaderBytes, call.reply_bytes);
    outcome = decode(*procedure.result, body, result,
                     call.is_in_place ? Placement::kInPlace : Placement::kCopy, nullptr);
    if (outcome == Status(EPROTO)) lose_binding(EPROTO);
  }
  call.reply.shrink();
  forget_end(call);
  call.has_owner = false;
  recycle(call);
  if (waiting_ > 0) progress_.notify_all();
  return outcome.ok() ? outcome : outcome_text(outcome.error(), procedure);
}

}  // namespace exs::rpc
