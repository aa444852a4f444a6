// SPDX-License-Identifier: BSD-2-Clause
#include "src/message/arguments.h"

#include "base/refusal.h"
#include "src/api/refusals.h"

namespace exs {
namespace {

constexpr int kPiecesMax = 1024;

Status check_context(int context) {
  if (context >= 0) return Status();
  return refuse(EINVAL, "{} is no context: those are numbers from 0 on", context);
}

}  // namespace

Status refuse_rank(const Endpoint& endpoint, int rank) {
  return refuse(EINVAL, "there is no rank {}: the job has {}, from 0 on", rank, endpoint.size());
}

Status refuse_source(const Endpoint& endpoint, int from, int context) {
  const Status status = check_context(context);
  return status.ok() ? refuse_rank(endpoint, from) : status;
}

Status refuse_send(const Endpoint& endpoint, int to, int tag, int context, int flags) {
  if (const Status status = check_rank(endpoint, to); !status.ok()) return status;
  if (const Status status = check_context(context); !status.ok()) return status;
  if (tag == EXM_ANY_TAG)
    return refuse(EINVAL, "a message has a tag of its own: EXM_ANY_TAG is for receives");
  return refuse(EINVAL, "flags {:#x}: there is EXM_SYNC alone", flags);
}

Status refuse_memory(const Buffer& buffer) {
  return refuse(EINVAL, "{} bytes at NULL", buffer.bytes);
}

Result<Buffer> buffer_of(const exs_iovec_t* pieces, int count) {
  if (count < 0 || count > kPiecesMax)
    return failure(refuse(EINVAL, "{} pieces: there may be up to {}", count, kPiecesMax));
  if (count > 0 && pieces == nullptr) return failure(null_argument());
  Buffer buffer;
  buffer.pieces = {pieces, static_cast<std::size_t>(count)};
  for (const exs_iovec_t& piece : buffer.pieces) {
    if (piece.iov_base == nullptr && piece.iov_len > 0)
      return failure(refuse(EINVAL, "a piece of {} bytes at NULL", piece.iov_len));
    if (piece.iov_len > SIZE_MAX - buffer.bytes)
      return failure(refuse(EINVAL, "the pieces have more than 2^64 bytes"));
    buffer.bytes += piece.iov_len;
  }
  return buffer;
}

Request* find_waitable(Endpoint& endpoint, exm_request_t request) noexcept {
  Request* const found = endpoint.find(request);
  return found == nullptr || found->listener.is_poll ? nullptr : found;
}

Status no_such_request(exm_request_t request) {
  return refuse(EINVAL, "there is no request {:#x} of this endpoint: it was given up, or never was", request);
}

}  // namespace exs
