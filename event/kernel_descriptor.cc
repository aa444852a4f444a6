#include "event/kernel_descriptor.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace exs {

std::optional<std::uint64_t> socket_cookie(int number) {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  if (::getsockopt(number, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return std::nullopt;
  return cookie;
}

// dup3 closes what the number meant and puts a placeholder there in one step. Without a descriptor for the
// placeholder the socket is closed with the last event.
void KernelDescriptor::close_socket() const noexcept {
  if (!ours_.load(std::memory_order_acquire) || !is_there()) return;
  const UniqueFd placeholder(::eventfd(0, EFD_CLOEXEC));
  if (placeholder.valid()) ::dup3(placeholder.get(), number_, O_CLOEXEC);
}

}  // namespace exs
