#include "src/provider/iwarp/incoming_request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/base/kernel.h"

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

void IncomingRequest::reject(std::span<const std::byte> private_data) noexcept {
  if (answered_) return;
  answered_ = true;
  send_rejection(descriptor_, frame_, private_data);
}

Status IncomingRequest::grant(std::span<const std::byte> private_data) {
  if (answered_ || private_data.size() > kUserPrivateMax) return Status(EINVAL);
  answered_ = true;
  MpaFrame reply = reply_to(frame_, false, 0, 0);
  reply.is_exs = true;
  reply.private_data = private_data;
  const MpaBytes frame = encode_mpa(reply);
  // A new connection's send buffer is empty, so this leaves whole.
  const ssize_t sent =
      kernel::send(descriptor_, frame.bytes.data(), frame.length, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(frame.length) ? Status() : Status(ECONNRESET);
}

bool IncomingRequest::peer_is_gone() const noexcept {
  std::byte next;
  const ssize_t bytes = kernel::recv(descriptor_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR);
}

void send_rejection(int descriptor, const MpaFrame& request,
                    std::span<const std::byte> private_data) noexcept {
  MpaFrame reply = rejection_of(request);
  reply.private_data = private_data.first(std::min<std::size_t>(private_data.size(), kUserPrivateMax));
  const MpaBytes frame = encode_mpa(reply);
  // A new connection's send buffer is empty, so this leaves whole; if the peer is gone nobody misses it.
  (void)kernel::send(descriptor, frame.bytes.data(), frame.length, MSG_DONTWAIT | MSG_NOSIGNAL);
  kernel::shutdown(descriptor, SHUT_WR);
}

}  // namespace exs::iwarp
