// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/kernel_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <new>

#include "base/kernel.h"

namespace exs {

std::shared_ptr<KernelDescriptor> KernelDescriptor::own(UniqueFd descriptor) {
  return {new KernelDescriptor(std::move(descriptor)), Retire()};
}

std::shared_ptr<KernelDescriptor> KernelDescriptor::adopt(int number, std::uint64_t cookie) {
  return {new KernelDescriptor(number, cookie), Retire()};
}

KernelDescriptor::Events* KernelDescriptor::make_events_in(NumberKeeper& queue,
                                                           std::uint64_t queue_id) noexcept {
  EventCounts* counts = counts_.load(std::memory_order_acquire);
  if (counts == nullptr) {
    std::unique_ptr<EventCounts> made(new (std::nothrow) EventCounts(*this));
    if (made == nullptr) return nullptr;
    if (counts_.compare_exchange_strong(counts, made.get(), std::memory_order_acq_rel))
      counts = made.release();
  }
  const LockGuard guard(counts->lock);
  for (Events& events : counts->of_queues) {
    const bool is_free = events.queue_id_.load(std::memory_order_relaxed) == 0 ||
                         (events.queue_.expired() && events.state_.load(std::memory_order_acquire) == 0);
    if (!is_free) continue;
    events.queue_ = queue.weak_from_this();
    events.queue_id_.store(queue_id, std::memory_order_relaxed);
    return &events;
  }
  return nullptr;
}

// No owner is left, so no event comes any more.
void KernelDescriptor::retire() noexcept {
  if (EventCounts* const counts = counts_.load(std::memory_order_acquire)) {
    for (Events& events : counts->of_queues) {
      const std::shared_ptr<NumberKeeper> queue = events.queue_.lock();
      users_.fetch_add(1, std::memory_order_relaxed);
      // A queue that is gone may be dropping its events at this moment.
      const bool is_awaited = queue ? queue->await_events(events) : events.await();
      if (!is_awaited) users_.fetch_sub(1, std::memory_order_relaxed);  // never the last: that is below
    }
  }
  leave();
}

// A kernel that refuses to say is no proof that the number of a socket of ours is another's.
bool KernelDescriptor::means(const Cookie& cookie) const noexcept {
  const Cookie found = socket_cookie(number_);
  if (found) return !cookie || *found == *cookie;
  return !adopted_ && (!cookie || (errno != EBADF && errno != ENOTSOCK));
}

// Never closes what the number means by now.
KernelDescriptor::~KernelDescriptor() {
  delete counts_.load(std::memory_order_relaxed);
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
