// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/incoming_request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/kernel.h"

namespace exs::iwarp {

IncomingRequest::IncomingRequest(int descriptor, std::unique_ptr<MpaCollector> collector)
    : descriptor_(descriptor), collector_(std::move(collector)), frame_(collector_->frame()) {}

IncomingRequest::~IncomingRequest() {
  if (!owned_) return;
  if (!answered_) reject({});
  kernel::close(descriptor_);
}

int IncomingRequest::release_descriptor() noexcept {
  owned_ = false;
  return descriptor_;
}

// Sends the rejection and nothing else: the descriptor stays open.
void IncomingRequest::reject(std::span<const std::byte> private_data) noexcept {
  if (answered_) return;
  answered_ = true;
  MpaFrame reply = rejection_of(frame_);
  reply.private_data = private_data.first(std::min<std::size_t>(private_data.size(), kUserPrivateMax));
  (void)send_rest(encode_mpa(reply));  // a peer that has gone does not miss it
  kernel::shutdown(descriptor_, SHUT_WR);
}

Status IncomingRequest::grant(std::span<const std::byte> private_data) {
  if (answered_ || private_data.size() > kUserPrivateMax) return Status(EINVAL);
  answered_ = true;
  MpaFrame reply = reply_to(frame_, false, 0, 0);
  reply.is_exs = true;
  reply.private_data = private_data;
  return send_rest(encode_mpa(reply)) ? Status() : Status(ECONNRESET);
}

// Others than exs peers may want the reply in one piece.
void IncomingRequest::tell_received() noexcept {
  if (answered_ || sent_bytes_ > 0 || !frame_.is_exs) return;
  const MpaBytes reply = encode_mpa(rejection_of(frame_));
  const ssize_t sent =
      kernel::send(descriptor_, reply.bytes.data(), kMpaKeyBytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) sent_bytes_ = static_cast<std::size_t>(sent);
}

// A new connection's send buffer is empty, so this leaves whole.
bool IncomingRequest::send_rest(const MpaBytes& reply) noexcept {
  const auto rest = unsent_of(reply);
  const ssize_t sent = kernel::send(descriptor_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(rest.size());
}

bool IncomingRequest::peer_is_gone() const noexcept {
  std::byte next;
  const ssize_t bytes = kernel::recv(descriptor_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace exs::iwarp
