// exs_qcreate, exs_qdelete, exs_qdequeue, exs_qwait, exs_qmodify, exs_qstatus, exs_qfd,
// exs_qpost.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "event/queue/wait.h"
#include "src/api/api_call.h"
#include "src/log/log.h"

namespace exs {
namespace {

constexpr std::uint64_t kNsPerMicrosecond = 1'000;

bool is_time(const timeval& time) {
  return time.tv_sec >= 0 && time.tv_usec >= 0 && time.tv_usec < 1'000'000;
}

Status no_time(const timeval& time) {
  return refuse(EINVAL, "the time of {} s and {} us is none: both are 0 or more, and tv_usec below 1000000",
                time.tv_sec, time.tv_usec);
}

// Converts a timeout, which may be null.
WaitLimit limit_of(const timeval* timeout) {
  if (timeout == nullptr) return WaitLimit::until(kNoDeadline);
  const auto seconds = static_cast<std::uint64_t>(timeout->tv_sec);
  const std::uint64_t part_ns = static_cast<std::uint64_t>(timeout->tv_usec) * kNsPerMicrosecond;
  if (seconds > kNoDeadline / kNsPerSecond - 1) return WaitLimit::until(kNoDeadline);
  return WaitLimit::lasting(seconds * kNsPerSecond + part_ns);
}

Status check_numbers(const EventQueue& queue, std::int64_t min, std::int64_t max) {
  if (max < 0 || min < 0 || min > max || max > EXS_EVTVEC_MAX)
    return refuse(EINVAL,
                  "{} to {} events: at most {} (EXS_EVTVEC_MAX) at once, and not more at least than at most",
                  min, max, EXS_EVTVEC_MAX);
  if (max == 0 || static_cast<std::size_t>(min) <= queue.depth()) return Status();
  return refuse(EINVAL, "{} events will never be there: the queue has {} slots", min, queue.depth());
}

Status wait_on(Library& library, exs_qhandle_t handle, exs_event_t* events, std::int64_t min,
               std::int64_t max, WaitLimit limit, std::size_t& taken) {
  ReadSection section;
  EventQueue* const queue = library.queues.peek(handle);
  if (queue == nullptr) return no_such_queue(handle);
  if (const Status status = check_numbers(*queue, min, max); !status.ok() || max == 0) return status;
  if (events == nullptr) return null_argument();
  return take_events(*queue, events, static_cast<std::size_t>(std::max<std::int64_t>(min, 1)),
                     static_cast<std::size_t>(max), min == 0 ? WaitLimit::lasting(0) : limit, &section,
                     taken);
}

// The steady case, in few steps. 0: wait_on() decides.
std::size_t dequeue_at_once(exs_qhandle_t handle, exs_event_t* events, int count) noexcept {
  Library* const library = Library::current();
  if (library == nullptr || ThreadRecord::mine() == nullptr || events == nullptr) return 0;
  if (count < 1 || count > EXS_EVTVEC_MAX) return 0;
  const ReadSection section;
  EventQueue* const queue = library->queues.peek(handle);
  return queue == nullptr ? 0 : take_at_once(*queue, events, static_cast<std::size_t>(count));
}

// Programs need not know that a queue holds descriptors.
Status without_descriptors(Status why) {
  return why == Status(EMFILE) || why == Status(ENFILE) ? Status(ENOMEM) : why;
}

template <typename T>
Result<T> attribute_value(const void* value, std::size_t length) {
  if (length != sizeof(T)) return failure(wrong_size(length, sizeof(T)));
  T copy;
  std::memcpy(&copy, value, sizeof copy);
  return copy;
}

Status no_such_attribute(int attribute) {
  return refuse(EINVAL, "{} is no attribute of a queue that the call takes: exs_qmodify(3) lists them",
                attribute);
}

Status set_signal(EventQueue& queue, const void* value, std::size_t length) {
  const auto wish = attribute_value<exs_signal_t>(value, length);
  if (!wish) return wish.error();
  const bool enable = wish->exs_sig_control == EXS_SIG_ENABLE;
  if (!enable && wish->exs_sig_control != EXS_SIG_DISABLE)
    return refuse(EINVAL, "exs_sig_control is {}: give EXS_SIG_ENABLE or EXS_SIG_DISABLE",
                  wish->exs_sig_control);
  if (enable && (wish->exs_sig_signo < 1 || wish->exs_sig_signo > SIGRTMAX))
    return out_of_range(wish->exs_sig_signo, 1, SIGRTMAX);
  queue.set_signal(*wish);
  return queue.home()->start_engine_for_outsiders();
}

Status set_attribute(EventQueue& queue, int attribute, const void* value, std::size_t length) {
  if (attribute == EXS_QATTR_SPIN_NS) {
    const auto spin_ns = attribute_value<std::uint64_t>(value, length);
    if (!spin_ns) return spin_ns.error();
    queue.set_spin_ns(*spin_ns);
    return Status();
  }
  if (attribute == EXS_QATTR_SIGNAL) return set_signal(queue, value, length);
  if (attribute != EXS_QATTR_DEPTH && attribute != EXS_QATTR_WAIT) return no_such_attribute(attribute);
  const auto wish = attribute_value<int>(value, length);
  if (!wish) return wish.error();
  if (attribute == EXS_QATTR_DEPTH) {
    if (*wish < 1 || *wish > EXS_QDEPTH_MAX) return out_of_range(*wish, 1, EXS_QDEPTH_MAX);
    return queue.set_depth(static_cast<std::size_t>(*wish));
  }
  if (*wish < EXS_WAIT_ADAPTIVE || *wish > EXS_WAIT_BUSY_POLL)
    return out_of_range(*wish, EXS_WAIT_ADAPTIVE, EXS_WAIT_BUSY_POLL);
  queue.set_wait_mode(*wish);
  return Status();
}

template <typename T>
Status put_attribute(T attribute, void* value, std::size_t* length) {
  if (*length < sizeof attribute) return wrong_size(*length, sizeof attribute);
  std::memcpy(value, &attribute, sizeof attribute);
  *length = sizeof attribute;
  return Status();
}

Status get_attribute(EventQueue& queue, int attribute, void* value, std::size_t* length) {
  switch (attribute) {
    case EXS_QATTR_DEPTH: return put_attribute(static_cast<int>(queue.depth()), value, length);
    case EXS_QATTR_EVENTS: return put_attribute(static_cast<int>(queue.events()), value, length);
    case EXS_QATTR_WAIT: return put_attribute(queue.wait_mode(), value, length);
    case EXS_QATTR_RESERVED_SLOTS: return put_attribute(static_cast<int>(queue.reserved()), value, length);
    case EXS_QATTR_SIGNAL: return put_attribute(queue.signal(), value, length);
    case EXS_QATTR_SPIN_NS: return put_attribute(queue.spin_ns(), value, length);
    default: return no_such_attribute(attribute);
  }
}

}  // namespace
}  // namespace exs

using namespace exs;

exs_qhandle_t exs_qcreate(int depth) {
  return api_call(EXS_QHANDLE_INVALID, [&](Library& library) -> Result<exs_qhandle_t> {
    if (depth < 1 || depth > EXS_QDEPTH_MAX) return failure(out_of_range(depth, 1, EXS_QDEPTH_MAX));
    auto home = library.next_shard();
    if (!home) return failure(without_descriptors(home.error()));
    auto queue = std::make_shared<EventQueue>(static_cast<std::size_t>(depth), std::move(*home));
    if (queue->follower_fd() < 0) return failure(ENOMEM);
    const int handle = library.queues.insert(std::move(queue));
    if (handle == 0) return failure(ENOMEM);
    return static_cast<exs_qhandle_t>(handle);
  });
}

int exs_qdelete(exs_qhandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    const auto queue = library.queues.find(handle);
    if (!queue) return failure(no_such_queue(handle));
    if (const Status status = queue->close(false); !status.ok())
      return failure(
          refuse(status.error(),
                 "{} events or operations still have slots of the queue: dequeue them, or close the "
                 "sockets, first",
                 queue->events() + queue->reserved()));
    return library.queues.remove(handle) ? Result<int>(0) : failure(no_such_queue(handle));
  });
}

int exs_qdequeue(exs_qhandle_t handle, exs_event_t* events, int count, const struct timeval* timeout) {
  std::size_t taken = timeout == nullptr || is_time(*timeout) ? dequeue_at_once(handle, events, count) : 0;
  if (taken > 0) return static_cast<int>(taken);
  const int failed = api_call([&](Library& library) {
    if (timeout != nullptr && !is_time(*timeout)) return no_time(*timeout);
    const std::int64_t wide = count;  // -INT_MIN does not fit an int
    const std::int64_t max = wide < 0 ? -wide : wide;
    return wait_on(library, handle, events, wide > 0 ? 1 : max, max, limit_of(timeout), taken);
  });
  return failed == 0 ? static_cast<int>(taken) : failed;
}

int exs_qwait(exs_qhandle_t handle, exs_event_t* events, int max, int min, int64_t timeout_ns) {
  std::size_t taken = min == 0 || (min == 1 && max >= 1) ? dequeue_at_once(handle, events, max) : 0;
  if (taken > 0) return static_cast<int>(taken);
  const int failed = api_call([&](Library& library) {
    const std::uint64_t ns = timeout_ns < 0 ? kNoDeadline : static_cast<std::uint64_t>(timeout_ns);
    return wait_on(library, handle, events, min, max, WaitLimit::lasting(ns), taken);
  });
  return failed == 0 ? static_cast<int>(taken) : failed;
}

int exs_qmodify(exs_qhandle_t handle, int attribute, const void* value, size_t length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto queue = library.queues.find(handle);
    if (!queue) return failure(no_such_queue(handle));
    if (value == nullptr) return failure(null_argument());
    return api_result(set_attribute(*queue, attribute, value, length));
  });
}

int exs_qstatus(exs_qhandle_t handle, int attribute, void* value, size_t* length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto queue = library.queues.find(handle);
    if (!queue) return failure(no_such_queue(handle));
    if (value == nullptr || length == nullptr) return failure(null_argument());
    return api_result(get_attribute(*queue, attribute, value, length));
  });
}

int exs_qfd(exs_qhandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    const auto queue = library.queues.find(handle);
    if (!queue) return failure(no_such_queue(handle));
    if (const Status status = queue->home()->start_engine_for_outsiders(); !status.ok())
      return failure(status);
    return queue->ready_fd();
  });
}

int exs_qpost(exs_qhandle_t handle, exs_ahandle_t ahandle, const uint64_t user[5]) {
  return api_call([&](Library& library) -> Result<int> {
    const auto queue = library.queues.find(handle);
    if (!queue) return failure(no_such_queue(handle));
    if (!queue->reserve()) return failure(queue_is_full(*queue));
    exs_event_t event{};
    event.exs_evt_type = EXS_EVT_USER;
    event.exs_evt_socket = -1;
    event.exs_evt_ahandle = ahandle;
    if (user != nullptr)
      std::memcpy(event.exs_evt_union.exs_evt_user, user, sizeof event.exs_evt_union.exs_evt_user);
    queue->push(event, nullptr);
    return 0;
  });
}
