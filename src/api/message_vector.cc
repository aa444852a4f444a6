// exs_sendmsg, exs_recvmsg.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/api_call.h"
#include "src/api/vector_post.h"

namespace exs {
namespace {

using proto::Direction;

Result<std::vector<Element>> elements_of(const exs_msghdr_t* message) {
  if (message == nullptr) return failure(null_argument());
  if (message->msg_flags != 0 || message->msg_control != nullptr || message->msg_controllen != 0)
    return failure(
        refuse(EINVAL, "msg_flags, msg_control and msg_controllen must be 0: exs has no control messages"));
  if (message->msg_iovlen < 0) return failure(out_of_range(message->msg_iovlen, 0, EXS_IOV_MAX));
  if (message->msg_iovlen > EXS_IOV_MAX) return failure(too_many_pieces(message->msg_iovlen));
  if (message->msg_iovlen > 0 && message->msg_iov == nullptr) return failure(null_argument());
  std::vector<Element> elements;
  elements.reserve(static_cast<std::size_t>(message->msg_iovlen));
  for (int i = 0; i < message->msg_iovlen; ++i) {
    const auto element = element_of(message->msg_iov[i]);
    if (!element) return failure(element.error());
    elements.push_back(*element);
  }
  return elements;
}

Status post(Library& library, const TransferRequest& request, const exs_msghdr_t* message,
            std::uint8_t event_type) {
  if (const Status status = check_flags(request.direction, request.flags, CallKind::kVector); !status.ok())
    return status;
  const auto target = find_target(library, request);
  if (!target) return target.error();
  const auto elements = elements_of(message);
  if (!elements) return elements.error();
  return post_elements(library, request, *target, *elements, event_type, message);
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_sendmsg(int socket, exs_msghdr_t* message, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) {
    return api_result(
        post(library, {Direction::kSend, socket, flags, queue, handle}, message, EXS_EVT_SENDMSG));
  });
}

int exs_recvmsg(int socket, exs_msghdr_t* message, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) {
    return api_result(
        post(library, {Direction::kReceive, socket, flags, queue, handle}, message, EXS_EVT_RECVMSG));
  });
}
