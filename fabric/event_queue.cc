// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/event_queue.h"

#include <algorithm>

namespace exs::fabric {
namespace {

extern fi_ops event_queue_fid_ops;
extern fi_ops_eq event_queue_ops;

constexpr std::uint64_t kFlags = FI_WRITE;

}  // namespace

EventQueue::EventQueue(bool may_be_written, bool has_descriptor, void* context)
    : Object(FI_CLASS_EQ, event_queue_fid_ops, context),
      may_be_written_(may_be_written),
      signal_(has_descriptor) {
  handle()->ops = &event_queue_ops;
}

void EventQueue::add(std::uint32_t event, const void* entry, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(entry);
  const LockGuard guard(mutex_);
  events_.push_back({event, {from, from + bytes}});
  signal_.raise();
  added_.notify_one();
}

bool EventQueue::is_empty() {
  const LockGuard guard(mutex_);
  return events_.empty();
}

ssize_t EventQueue::read(std::uint32_t* event, void* into, std::size_t bytes, std::uint64_t flags) {
  const LockGuard guard(mutex_);
  if (events_.empty()) return -FI_EAGAIN;
  const PostedEvent& first = events_.front();
  if (first.entry.size() > bytes) return -FI_ETOOSMALL;
  const std::size_t length = first.entry.size();
  *event = first.number;
  std::copy(first.entry.begin(), first.entry.end(), static_cast<std::byte*>(into));
  if ((flags & FI_PEEK) == 0) {
    events_.pop_front();
    if (events_.empty()) signal_.lower();
  }
  return static_cast<ssize_t>(length);
}

ssize_t EventQueue::read_waiting(std::uint32_t* event, void* into, std::size_t bytes, int timeout_ms,
                                 std::uint64_t flags) {
  {
    const std::uint64_t end_ns = end_after_ms(timeout_ms);
    const LockGuard guard(mutex_);
    while (events_.empty() && added_.wait_until(mutex_, end_ns)) continue;
  }
  return read(event, into, bytes, flags);
}

namespace {

ssize_t read_event(fid_eq* queue, std::uint32_t* event, void* into, std::size_t bytes, std::uint64_t flags) {
  return guarded<ssize_t>([&] { return EventQueue::of(queue).read(event, into, bytes, flags); });
}

ssize_t wait_for_event(fid_eq* queue, std::uint32_t* event, void* into, std::size_t bytes, int timeout_ms,
                       std::uint64_t flags) {
  return guarded<ssize_t>(
      [&] { return EventQueue::of(queue).read_waiting(event, into, bytes, timeout_ms, flags); });
}

// All errors are returned by the calls themselves.
ssize_t read_event_error(fid_eq* /*queue*/, fi_eq_err_entry* /*entry*/, std::uint64_t /*flags*/) {
  return -FI_EAGAIN;
}

ssize_t write_event(fid_eq* queue, std::uint32_t event, const void* entry, std::size_t bytes,
                    std::uint64_t flags) {
  return guarded<ssize_t>([&]() -> ssize_t {
    EventQueue& self = EventQueue::of(queue);
    if (!self.may_be_written() || flags != 0) return -FI_EINVAL;
    self.add(event, entry, bytes);
    return static_cast<ssize_t>(bytes);
  });
}

fi_ops event_queue_fid_ops = fid_ops(close_object<EventQueue>, kNotHere, get_descriptor<EventQueue>);

fi_ops_eq event_queue_ops = {.size = sizeof(fi_ops_eq),
                             .read = read_event,
                             .readerr = read_event_error,
                             .write = write_event,
                             .sread = wait_for_event,
                             .strerror = error_text<fid_eq>};

}  // namespace

int open_event_queue(fid_fabric* /*fabric*/, fi_eq_attr* attr, fid_eq** queue, void* context) {
  return guarded([&]() -> int {
    const fi_wait_obj wait = attr == nullptr ? FI_WAIT_UNSPEC : attr->wait_obj;
    if (!is_offered(wait)) return -FI_ENOSYS;
    const std::uint64_t flags = attr == nullptr ? 0 : attr->flags;
    if ((flags & ~kFlags) != 0) return -FI_EBADFLAGS;
    *queue = (new EventQueue((flags & FI_WRITE) != 0, wait == FI_WAIT_FD, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
