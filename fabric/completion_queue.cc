// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/completion_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/kernel.h"

namespace exs::fabric {
namespace {

extern fi_ops queue_fid_ops;
extern fi_ops_cq queue_ops;

// Spins this long before the thread sleeps: the two wake-ups of a sleep take as long.
constexpr std::uint64_t kSpinNs = 50'000;

// Reads in a row without a completion, which take some microseconds. A yield takes one if no other thread wants the processor.
constexpr std::uint32_t kIdleReads = 64;

// Each format is a prefix of the longest.
std::size_t bytes_of(fi_cq_format format) noexcept {
  switch (format) {
    case FI_CQ_FORMAT_CONTEXT: return sizeof(fi_cq_entry);
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    default: return sizeof(fi_cq_tagged_entry);
  }
}

}  // namespace

CompletionQueue::CompletionQueue(fi_cq_format format, bool can_wait, void* context)
    : Object(FI_CLASS_CQ, queue_fid_ops, context), entry_bytes_(bytes_of(format)), reaper_(can_wait) {
  handle()->ops = &queue_ops;
}

void CompletionQueue::add(const fi_cq_tagged_entry& entry, fi_addr_t source) {
  const LockGuard guard(lock_);
  entries_.reserve(entries_.count() + reserved_ + 1);
  entries_.push_back({entry, source});
  count_ready();
  reaper_.wake();
}

void CompletionQueue::add_error(const fi_cq_err_entry& entry) {
  const LockGuard guard(lock_);
  errors_.push_back(entry);
  count_ready();
  reaper_.wake();
}

void CompletionQueue::reserve() {
  const LockGuard guard(lock_);
  entries_.reserve(entries_.count() + reserved_ + 1);
  ++reserved_;
}

void CompletionQueue::unreserve() noexcept {
  const LockGuard guard(lock_);
  EXS_CHECK(reserved_ > 0);
  --reserved_;
}

void CompletionQueue::add_reserved(const fi_cq_tagged_entry& entry, fi_addr_t source) noexcept {
  const LockGuard guard(lock_);
  EXS_CHECK(reserved_ > 0);
  --reserved_;
  entries_.push_back({entry, source});
  count_ready();
  reaper_.wake();
}

void CompletionQueue::count_ready() noexcept {
  ready_.store(entries_.count() + errors_.count(), std::memory_order_release);
}

ssize_t CompletionQueue::read_ready(void* into, std::size_t count, fi_addr_t* sources) {
  if (ready_.load(std::memory_order_acquire) == 0) return -FI_EAGAIN;
  const LockGuard guard(lock_);
  EXS_DEBUG_CHECK(ready_.load() == entries_.count() + errors_.count());
  if (!errors_.empty()) return -FI_EAVAIL;
  if (entries_.empty()) return -FI_EAGAIN;
  const std::size_t taken = std::min(count, entries_.count());
  auto* to = static_cast<std::byte*>(into);
  for (std::size_t i = 0; i < taken; ++i, to += entry_bytes_) {
    const ReadyEntry& first = entries_.front();
    if (into != nullptr) std::memcpy(to, &first.entry, entry_bytes_);
    if (sources != nullptr) sources[i] = first.source;
    entries_.drop_front();
  }
  count_ready();
  return static_cast<ssize_t>(taken);
}

ssize_t CompletionQueue::read(void* into, std::size_t count, fi_addr_t* sources) {
  ssize_t taken = read_ready(into, count, sources);
  if (taken == -FI_EAGAIN) {
    reaper_.reap();
    taken = read_ready(into, count, sources);
  }
  if (taken == -FI_EAGAIN) {
    yield_when_idle();
  } else {
    idle_reads_.store(0, std::memory_order_relaxed);
  }
  return taken;
}

// Open MPI reads until its send has completed, but the receiving process may be waiting for this processor.
void CompletionQueue::yield_when_idle() noexcept {
  // A concurrent count may be lost.
  const std::uint32_t reads = idle_reads_.load(std::memory_order_relaxed) + 1;
  idle_reads_.store(reads, std::memory_order_relaxed);
  if (reads % kIdleReads == 0) kernel::sched_yield();
}

bool CompletionQueue::is_quiet() {
  const LockGuard guard(lock_);
  return entries_.empty() && errors_.empty() && !is_signalled_;
}

bool CompletionQueue::take_signal() {
  const LockGuard guard(lock_);
  return std::exchange(is_signalled_, false);
}

bool CompletionQueue::arm() {
  reaper_.reap();
  // Entries added after arming wake the descriptor; earlier ones are seen here.
  return reaper_.arm() && is_quiet();
}

ssize_t CompletionQueue::read_waiting(void* into, std::size_t count, fi_addr_t* sources, int timeout_ms) {
  if (!reaper_.can_wait()) return -FI_ENOSYS;
  const std::uint64_t spins_until_ns = monotonic_ns() + kSpinNs;
  const std::uint64_t end_ns = end_after_ms(timeout_ms);
  for (;;) {
    if (const ssize_t taken = read(into, count, sources); taken != -FI_EAGAIN) return taken;
    if (take_signal()) return -FI_EAGAIN;
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns >= end_ns) return -FI_EAGAIN;
    if (now_ns < spins_until_ns || !arm()) continue;
    if (const Status slept = reaper_.sleep_until(end_ns); !slept.ok()) return to_fi(slept);
  }
}

ssize_t CompletionQueue::read_error(fi_cq_err_entry& into) {
  const LockGuard guard(lock_);
  if (errors_.empty()) return -FI_EAGAIN;
  // Entries have no error data, whatever room the caller has.
  into = errors_.front();
  errors_.drop_front();
  count_ready();
  return 1;
}

void CompletionQueue::signal() {
  const LockGuard guard(lock_);
  is_signalled_ = true;
  reaper_.wake_always();
}

namespace {

ssize_t read_entries(fid_cq* queue, void* into, std::size_t count) {
  return guarded<ssize_t>([&] { return CompletionQueue::of(queue).read(into, count, nullptr); });
}

ssize_t read_entries_from(fid_cq* queue, void* into, std::size_t count, fi_addr_t* sources) {
  return guarded<ssize_t>([&] { return CompletionQueue::of(queue).read(into, count, sources); });
}

ssize_t read_error(fid_cq* queue, fi_cq_err_entry* into, std::uint64_t /*flags*/) {
  return guarded<ssize_t>([&] { return CompletionQueue::of(queue).read_error(*into); });
}

ssize_t wait_for_entries(fid_cq* queue, void* into, std::size_t count, const void* /*condition*/,
                         int timeout_ms) {
  return guarded<ssize_t>(
      [&] { return CompletionQueue::of(queue).read_waiting(into, count, nullptr, timeout_ms); });
}

ssize_t wait_for_entries_from(fid_cq* queue, void* into, std::size_t count, fi_addr_t* sources,
                              const void* /*condition*/, int timeout_ms) {
  return guarded<ssize_t>(
      [&] { return CompletionQueue::of(queue).read_waiting(into, count, sources, timeout_ms); });
}

int signal_queue(fid_cq* queue) {
  return guarded([&]() -> int {
    CompletionQueue::of(queue).signal();
    return 0;
  });
}

fi_ops queue_fid_ops = fid_ops(close_unused<CompletionQueue>, kNotHere, get_descriptor<CompletionQueue>);

fi_ops_cq queue_ops = {.size = sizeof(fi_ops_cq),
                       .read = read_entries,
                       .readfrom = read_entries_from,
                       .readerr = read_error,
                       .sread = wait_for_entries,
                       .sreadfrom = wait_for_entries_from,
                       .signal = signal_queue,
                       .strerror = error_text<fid_cq>};

}  // namespace

int open_completion_queue(fid_domain* /*domain*/, fi_cq_attr* attr, fid_cq** queue, void* context) {
  return guarded([&]() -> int {
    const fi_wait_obj wait = attr->wait_obj;
    if (!is_offered(wait)) return -FI_ENOSYS;
    if ((attr->flags & ~FI_AFFINITY) != 0) return -FI_EBADFLAGS;
    *queue = (new CompletionQueue(attr->format, wait != FI_WAIT_NONE, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
