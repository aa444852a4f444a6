// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/kernel_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/kernel.h"

namespace exs {

// A kernel that refuses to say is no proof that the number of a socket of ours is another's.
bool KernelDescriptor::means(const Cookie& cookie) const noexcept {
  const Cookie found = socket_cookie(number_);
  if (found) return !cookie || *found == *cookie;
  return !adopted_ && (!cookie || (errno != EBADF && errno != ENOTSOCK));
}

// Never closes what the number means by now.
KernelDescriptor::~KernelDescriptor() {
  if (!descriptor_.valid()) return;
  const std::uint64_t placeholder = placeholder_.load(std::memory_order_relaxed);
  if (!means(placeholder != 0 ? Cookie(placeholder) : cookie_)) static_cast<void>(descriptor_.release());
}

// dup3 closes the socket and puts a placeholder under its number in one step: a socket, because that has a
// cookie. If there is no descriptor for the placeholder, the socket is closed with the last event.
void KernelDescriptor::close_socket() const noexcept {
  if (!ours_.load(std::memory_order_acquire) || !is_there()) return;
  const UniqueFd placeholder(kernel::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Cookie cookie = placeholder.valid() ? socket_cookie(placeholder.get()) : std::nullopt;
  if (!cookie || kernel::dup3(placeholder.get(), number_, O_CLOEXEC) < 0) return;
  placeholder_.store(*cookie, std::memory_order_relaxed);
}

void KernelDescriptor::stop_listening() const noexcept {
  if (!adopted_ && is_there()) kernel::shutdown(number_, SHUT_RD);
}

}  // namespace exs
