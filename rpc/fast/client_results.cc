// Turns a reply into the result and the outcome of a call.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "rpc/fast/client.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/error_text.h"

namespace exs::rpc {

void Client::finish(Call& call, const Header& header, std::span<const std::byte> body) {
  if (call.context != nullptr && header.is_timed != 0) call.context->server_us = header.micros;
  switch (static_cast<Status>(header.procedure)) {
    case Status::kOk: return conclude(call, place_result(call, body, call.result), EXS_RPC_EXECUTED);
    case Status::kFailed: {
      std::int32_t status = 0;
      if (!read_words(body, status)) return conclude(call, EPROTO, EXS_RPC_UNKNOWN);
      if (call.context != nullptr) call.context->remote_status = status;
      return conclude(call, EREMOTEIO, EXS_RPC_EXECUTED);
    }
    case Status::kOverdue: return conclude(call, ETIMEDOUT, EXS_RPC_NOT_EXECUTED);
    case Status::kNoMemory: return conclude(call, ENOMEM, EXS_RPC_NOT_EXECUTED);
    case Status::kNoResult: return conclude(call, EMSGSIZE, EXS_RPC_EXECUTED);
    default: return conclude(call, EPROTO, EXS_RPC_UNKNOWN);
  }
}

// Decodes the result at once if the caller waits for it, else in end().
int Client::place_result(Call& call, std::span<const std::byte> body, void* result) {
  const exs_rpc_type_t* const type = call.procedure->result;
  if (type == nullptr) return body.empty() ? 0 : EPROTO;
  if (result != nullptr)
    return decode(*type, body, result, call.is_in_place ? Placement::kInPlace : Placement::kCopy, nullptr);
  call.reply_bytes = body.size();
  const bool is_of_link = binding_->link().received().data() + kHeaderBytes == body.data();
  if (is_of_link && binding_->link().take_body(call.reply)) return 0;
  if (!call.reply.reserve(kHeaderBytes + body.size())) return ENOMEM;
  std::memcpy(call.reply.message() + kHeaderBytes, body.data(), body.size());
  return 0;
}

int Client::tell(Call& call, void* result) {
  int error = call.error;
  if (error == 0 && call.result == nullptr && call.procedure->result != nullptr && result != nullptr) {
    const std::span<const std::byte> body(call.reply.message() + kHeaderBytes, call.reply_bytes);
    error = decode(*call.procedure->result, body, result,
                   call.is_in_place ? Placement::kInPlace : Placement::kCopy, nullptr);
    if (error == EPROTO) lose_binding(EPROTO);
  }
  const exs_rpc_procedure_t& procedure = *call.procedure;
  call.reply.shrink();
  forget_end(call);
  call.has_owner = false;
  recycle(call);
  if (waiting_ > 0) progress_.notify_all();
  switch (error) {
    case 0: return 0;
    case ETIMEDOUT: return refuse(error, "%s: not answered in time", procedure.name);
    case ECANCELED: return refuse(error, "%s: cancelled", procedure.name);
    case EREMOTEIO:
      return refuse(error, "%s: the procedure failed, and remote_status of the context tells how",
                    procedure.name);
    case EMSGSIZE:
      return refuse(error,
                    "%s: its result is longer than the server may send, or than the memory it is to go to",
                    procedure.name);
    case EPROTO: return refuse(error, "%s: the server does not keep to the protocol", procedure.name);
    default: return refuse(error, "%s: %s", procedure.name, std::strerror(error));
  }
}

}  // namespace exs::rpc
