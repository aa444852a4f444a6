// exm_send, exm_isend, exm_recv, exm_irecv and those of several pieces.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/message/arguments.h"
#include "src/message/ep.h"

namespace exs {
namespace {

Result<exm_request_t> start_send(Endpoint& endpoint, const Buffer& from, int to, int tag, int context,
                                 int flags) {
  if (const Status status = check_memory(from); !status.ok()) return failure(status);
  if (const Status status = check_send(endpoint, to, tag, context, flags); !status.ok())
    return failure(status);
  proto::Label label;
  label.bits = bits_of(tag, context);
  label.synchronous = (flags & EXM_SYNC) != 0;
  return endpoint.send(static_cast<std::uint32_t>(to), label, from, {});
}

Result<exm_request_t> start_receive(Endpoint& endpoint, const Buffer& into, int from, int tag, int context) {
  if (const Status status = check_memory(into); !status.ok()) return failure(status);
  if (const Status status = check_source(endpoint, from, context); !status.ok()) return failure(status);
  return endpoint.receive(criteria_of(from, tag, context), into, {});
}

Result<int> start(const Result<exm_request_t>& started, exm_request_t* request) {
  if (!started) return failure(started.error());
  *request = *started;
  return 0;
}

// No other caller knows the request, so a caught signal cannot end the wait.
Result<int> finish(Endpoint& endpoint, const Result<exm_request_t>& started, exm_status_t* status) {
  if (!started) return failure(started.error());
  if (*started == 0) return 0;
  Request* const request = endpoint.find(*started);
  while (!endpoint.wait({&request, 1}, 1, -1).ok()) continue;
  return api_result(Status(endpoint.take_status(*request, status)));
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_send(exm_ep_t ep, const void* from, size_t length, int to, int tag, int context, int flags) {
  return message_call(ep, [&](Endpoint& endpoint) {
    return finish(endpoint, start_send(endpoint, buffer_of(from, length), to, tag, context, flags), nullptr);
  });
}

int exm_isend(exm_ep_t ep, const void* from, size_t length, int to, int tag, int context, int flags,
              exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    return start(start_send(endpoint, buffer_of(from, length), to, tag, context, flags), request);
  });
}

int exm_isendv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int to, int tag, int context, int flags,
               exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    const auto from = buffer_of(pieces, count);
    if (!from) return failure(from.error());
    return start(start_send(endpoint, *from, to, tag, context, flags), request);
  });
}

int exm_recv(exm_ep_t ep, void* into, size_t length, int from, int tag, int context, exm_status_t* status) {
  return message_call(ep, [&](Endpoint& endpoint) {
    return finish(endpoint, start_receive(endpoint, buffer_of(into, length), from, tag, context), status);
  });
}

int exm_irecv(exm_ep_t ep, void* into, size_t length, int from, int tag, int context,
              exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    return start(start_receive(endpoint, buffer_of(into, length), from, tag, context), request);
  });
}

int exm_irecvv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int from, int tag, int context,
               exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    const auto into = buffer_of(pieces, count);
    if (!into) return failure(into.error());
    return start(start_receive(endpoint, *into, from, tag, context), request);
  });
}

int exm_mrecv(exm_ep_t ep, void* into, size_t length, exm_message_t* message, exm_status_t* status) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (message == nullptr) return failure(null_argument());
    const Buffer buffer = buffer_of(into, length);
    if (const Status wrong = check_memory(buffer); !wrong.ok()) return failure(wrong);
    const auto started = endpoint.receive_taken(*message, buffer, {});
    if (started) *message = 0;
    return finish(endpoint, started, status);
  });
}

int exm_imrecv(exm_ep_t ep, void* into, size_t length, exm_message_t* message, exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (message == nullptr || request == nullptr) return failure(null_argument());
    const Buffer buffer = buffer_of(into, length);
    if (const Status status = check_memory(buffer); !status.ok()) return failure(status);
    const auto started = endpoint.receive_taken(*message, buffer, {});
    if (started) *message = 0;
    return start(started, request);
  });
}
