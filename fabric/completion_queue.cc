// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/completion_queue.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

namespace exs::fabric {
namespace {

using Clock = std::chrono::steady_clock;

extern fi_ops queue_fid_ops;
extern fi_ops_cq queue_ops;

// Spins this long before the thread sleeps: the two wake-ups of a sleep take as long.
constexpr std::chrono::microseconds kSpin{50};

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
  const std::lock_guard guard(lock_);
  entries_.push_back({entry, source});
  note_told();
  reaper_.wake();
}

void CompletionQueue::add_error(const fi_cq_err_entry& entry) {
  const std::lock_guard guard(lock_);
  errors_.push_back(entry);
  note_told();
  reaper_.wake();
}

void CompletionQueue::note_told() noexcept {
  told_.store(entries_.size() + errors_.size(), std::memory_order_release);
}

ssize_t CompletionQueue::take(void* into, std::size_t count, fi_addr_t* sources) {
  if (told_.load(std::memory_order_acquire) == 0) return -FI_EAGAIN;
  const std::lock_guard guard(lock_);
  if (!errors_.empty()) return -FI_EAVAIL;
  if (entries_.empty()) return -FI_EAGAIN;
  const std::size_t taken = std::min(count, entries_.size());
  auto* to = static_cast<std::byte*>(into);
  for (std::size_t i = 0; i < taken; ++i, to += entry_bytes_) {
    const Entry& first = entries_.front();
    if (into != nullptr) std::memcpy(to, &first.entry, entry_bytes_);
    if (sources != nullptr) sources[i] = first.source;
    entries_.pop_front();
  }
  note_told();
  return static_cast<ssize_t>(taken);
}

ssize_t CompletionQueue::read(void* into, std::size_t count, fi_addr_t* sources) {
  ssize_t taken = take(into, count, sources);
  if (taken == -FI_EAGAIN) {
    reaper_.reap();
    taken = take(into, count, sources);
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
  if (reads % kIdleReads == 0) sched_yield();
}

bool CompletionQueue::is_quiet() {
  const std::lock_guard guard(lock_);
  return entries_.empty() && errors_.empty() && !is_signalled_;
}

bool CompletionQueue::arm() {
  reaper_.reap();
  // Entries added after arming wake the descriptor; earlier ones are seen here.
  return reaper_.arm() && is_quiet();
}

ssize_t CompletionQueue::read_waiting(void* into, std::size_t count, fi_addr_t* sources, int timeout_ms) {
  if (!reaper_.can_wait()) return -FI_ENOSYS;
  const auto start = Clock::now();
  const auto end = start + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    if (const ssize_t taken = read(into, count, sources); taken != -FI_EAGAIN) return taken;
    {
      const std::lock_guard guard(lock_);
      if (std::exchange(is_signalled_, false)) return -FI_EAGAIN;
    }
    const auto now = Clock::now();
    if (timeout_ms >= 0 && now >= end) return -FI_EAGAIN;
    if (now < start + kSpin || !arm()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
    if (const int ready = reaper_.sleep(timeout_ms < 0 ? -1 : static_cast<int>(left.count())); ready < 0)
      return ready;
  }
}

ssize_t CompletionQueue::read_error(fi_cq_err_entry& into) {
  const std::lock_guard guard(lock_);
  if (errors_.empty()) return -FI_EAGAIN;
  // Entries have no error data, whatever room the caller has.
  into = errors_.front();
  errors_.pop_front();
  note_told();
  return 1;
}

void CompletionQueue::signal() {
  const std::lock_guard guard(lock_);
  is_signalled_ = true;
  reaper_.wake_always();
}

namespace {

ssize_t read_entries(fid_cq* queue, void* into, std::size_t count) {
  return guarded([&] { return CompletionQueue::of(queue).read(into, count, nullptr); });
}

ssize_t read_entries_from(fid_cq* queue, void* into, std::size_t count, fi_addr_t* sources) {
  return guarded([&] { return CompletionQueue::of(queue).read(into, count, sources); });
}

ssize_t read_error(fid_cq* queue, fi_cq_err_entry* into, std::uint64_t /*flags*/) {
  return guarded([&] { return CompletionQueue::of(queue).read_error(*into); });
}

ssize_t wait_for_entries(fid_cq* queue, void* into, std::size_t count, const void* /*condition*/,
                         int timeout_ms) {
  return guarded([&] { return CompletionQueue::of(queue).read_waiting(into, count, nullptr, timeout_ms); });
}

ssize_t wait_for_entries_from(fid_cq* queue, void* into, std::size_t count, fi_addr_t* sources,
                              const void* /*condition*/, int timeout_ms) {
  return guarded([&] { return CompletionQueue::of(queue).read_waiting(into, count, sources, timeout_ms); });
}

int signal_queue(fid_cq* queue) {
  return guarded([&]() -> int {
    CompletionQueue::of(queue).signal();
    return 0;
  });
}

fi_ops queue_fid_ops = fid_ops(close_unused<CompletionQueue>, kNotHere, tell_descriptor<CompletionQueue>);

fi_ops_cq queue_ops = {.size = sizeof(fi_ops_cq),
                       .read = read_entries,
                       .readfrom = read_entries_from,
                       .readerr = read_error,
                       .sread = wait_for_entries,
                       .sreadfrom = wait_for_entries_from,
                       .signal = signal_queue,
                       .strerror = tell_error<fid_cq>};

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
