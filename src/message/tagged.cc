// Messages matched by 64 bits, with completions by exm_tpoll.
// SPDX-License-Identifier: BSD-2-Clause
#include <span>

#include "src/message/arguments.h"
#include "src/message/ep.h"

namespace exs {
namespace {

constexpr int kSendFlags = EXM_SYNC | EXM_DATA | EXM_BUFFERED;

// One piece needs no list.
Status read_memory(const exs_iovec_t* pieces, int count, Buffer& memory) {
  if (count == 1 && pieces != nullptr) {
    memory = buffer_of(pieces->iov_base, pieces->iov_len);
    return check_memory(memory);
  }
  const auto several = buffer_of(pieces, count);
  if (several) memory = *several;
  return several ? Status() : several.error();
}

Status check_peer(const Endpoint& endpoint, int peer) {
  return peer == EXM_ANY_SOURCE ? Status() : check_rank(endpoint, peer);
}
match::Criteria criteria_by_bits(int peer, std::uint64_t match, std::uint64_t ignore) noexcept {
  const bool takes_any = peer == EXM_ANY_SOURCE;
  return {takes_any ? match::kAnySource : static_cast<std::uint32_t>(peer), match & ~ignore, ignore};
}

Result<exm_request_t> start_send(Endpoint& endpoint, const exs_iovec_t* pieces, int count, int peer,
                                 std::uint64_t match, std::uint64_t data, int flags, void* user) {
  Buffer from;
  if (const Status status = read_memory(pieces, count, from); !status.ok()) return failure(status);
  from.is_lent = (flags & EXM_BUFFERED) != 0;
  if (const Status status = check_rank(endpoint, peer); !status.ok()) return failure(status);
  if ((flags & ~kSendFlags) != 0)
    return failure(refuse(EINVAL, "flags {:#x}: there are EXM_SYNC, EXM_DATA and EXM_BUFFERED", flags));
  proto::Label label;
  label.bits = match;
  label.has_data = (flags & EXM_DATA) != 0;
  label.data = label.has_data ? data : 0;
  label.synchronous = (flags & EXM_SYNC) != 0;
  return endpoint.send(static_cast<std::uint32_t>(peer), label, from, {.is_poll = true, .user = user});
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_tsend(exm_ep_t ep, const exs_iovec_t* pieces, int count, int peer, uint64_t match, uint64_t data,
              int flags, void* user, exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    const auto started = start_send(endpoint, pieces, count, peer, match, data, flags, user);
    if (!started) return failure(started.error());
    *request = *started;
    return 0;
  });
}

int exm_trecv(exm_ep_t ep, const exs_iovec_t* pieces, int count, int peer, uint64_t match, uint64_t ignore,
              void* user, exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (request == nullptr) return failure(null_argument());
    Buffer into;
    if (const Status status = read_memory(pieces, count, into); !status.ok()) return failure(status);
    if (const Status status = check_peer(endpoint, peer); !status.ok()) return failure(status);
    *request = endpoint.receive(criteria_by_bits(peer, match, ignore), into, {.is_poll = true, .user = user});
    return 0;
  });
}

int exm_tprobe(exm_ep_t ep, int peer, uint64_t match, uint64_t ignore, exm_message_t* message,
               exm_completion_t* found) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (const Status status = check_peer(endpoint, peer); !status.ok()) return failure(status);
    endpoint.look_at_arrivals();
    exm_completion_t told;
    if (!endpoint.probe(criteria_by_bits(peer, match, ignore), told, message)) return 0;
    if (found != nullptr) *found = told;
    return 1;
  });
}

int exm_tmrecv(exm_ep_t ep, const exs_iovec_t* pieces, int count, exm_message_t* message, void* user,
               exm_request_t* request) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (message == nullptr || request == nullptr) return failure(null_argument());
    Buffer into;
    if (const Status status = read_memory(pieces, count, into); !status.ok()) return failure(status);
    const auto started = endpoint.receive_taken(*message, into, {.is_poll = true, .user = user});
    if (!started) return failure(started.error());
    *message = 0;
    *request = *started;
    return 0;
  });
}

int exm_tpoll(exm_ep_t ep, exm_completion_t* completions, int room, int64_t timeout_ns) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (room < 1) return failure(refuse(EINVAL, "room for {} completions", room));
    if (completions == nullptr) return failure(null_argument());
    const auto told = endpoint.poll({completions, static_cast<std::size_t>(room)}, timeout_ns);
    if (!told) return failure(told.error());
    return static_cast<int>(*told);
  });
}

int exm_tfd(exm_ep_t ep) {
  return message_call(ep, [](Endpoint& endpoint) { return endpoint.poll_descriptor(); });
}

int exm_tarm(exm_ep_t ep) {
  return message_call(ep, [](Endpoint& endpoint) -> Result<int> { return endpoint.arm_poll() ? 1 : 0; });
}
