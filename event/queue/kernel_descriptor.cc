#include "event/queue/kernel_descriptor.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/base/kernel.h"

namespace exs {

// Never closes what the number means by now.
KernelDescriptor::~KernelDescriptor() {
  if (!adopted_ && descriptor_.valid() && !is_there()) static_cast<void>(descriptor_.release());
}

// dup3 closes the socket and puts a placeholder under its number in one step. If there is no descriptor for
// the placeholder, the socket is closed with the last event.
void KernelDescriptor::close_socket() const noexcept {
  if (!ours_.load(std::memory_order_acquire) || !is_there()) return;
  const UniqueFd placeholder(kernel::eventfd(0, EFD_CLOEXEC));
  if (placeholder.valid()) kernel::dup3(placeholder.get(), number_, O_CLOEXEC);
}

}  // namespace exs
