// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table.h"

#include <sched.h>
#include <sys/mman.h>

#include "sockets/preload/aliases.h"
#include "sockets/preload/arena.h"
#include "sockets/preload/raw.h"

// The number of vfork children that use our memory; symbols/vfork.cc counts them.
extern "C" {
__attribute__((visibility("hidden"))) std::atomic<std::uint32_t> exs_sockets_vforks{0};
}

namespace exs::sockets {

std::atomic<std::uint32_t> g_first_numbers[kFirstNumbers];
Chunks<std::atomic<std::uint32_t>, kNumbers, kNumbersPerChunk> g_numbers;

namespace {

#if defined(__x86_64__)
constexpr bool kSeesVforks = true;
#else
constexpr bool kSeesVforks = false;
#endif
constexpr std::size_t kPageBytes = 4096;
// True in a page that the kernel wipes in the child of any fork. Null: no such page yet.
std::atomic<std::atomic<bool>*> own_mark{nullptr};

constexpr std::uint32_t kPlacesPerChunk = 256;
constinit Chunks<Place, kSlots, kPlacesPerChunk> places;
std::atomic<std::uint32_t> used{0};
constexpr long kRetired = -1;
std::atomic<long> process{0};
// It only grows.
std::atomic<int> numbers_end{0};

// The thread that holds the lock. A signal handler may find its own thread here and continues: it interrupted
// only a few stores to numbers of that call.
std::atomic<long> owner{0};
std::atomic<unsigned> depth{0};

// Cached for each thread; the child of a fork begins anew.
thread_local long own_number = 0;
long thread_number() noexcept {
  if (own_number == 0) own_number = raw::sys(SYS_gettid);
  return own_number;
}

}  // namespace

Place& place_of(std::uint32_t slot) noexcept {
  static constinit Place none{};  // a sink for the case that the kernel has no memory
  Place* const place = places.make(slot);
  return place == nullptr ? none : *place;
}

std::uint32_t places_used() noexcept {
  return used.load();
}

void lock_table() noexcept {
  const long self = thread_number();
  if (owner.load() == self) {
    depth.fetch_add(1);
    return;
  }
  for (long nobody = 0; !owner.compare_exchange_weak(nobody, self); nobody = 0) raw::sys(SYS_sched_yield);
}

void unlock_table() noexcept {
  if (depth.load() > 0) {
    depth.fetch_sub(1);
  } else {
    owner.store(0);
  }
}

TableLock::TableLock() noexcept {
  lock_table();
}
TableLock::~TableLock() {
  unlock_table();
}

void set_entry(int number, std::uint32_t entry) noexcept {
  forget_alias(number);
  if (entry != 0 && (entry & kBits) == 0) {
    ++place_of(entry).numbers;
    if (entry >= used.load()) used.store(entry + 1);
  }
  find_entry(number)->store(entry);
  int end = numbers_end.load();
  while (number >= end && !numbers_end.compare_exchange_weak(end, number + 1)) {
  }
}

int numbers_known() noexcept {
  return numbers_end.load();
}

bool is_retired() noexcept {
  return process.load(std::memory_order_relaxed) == kRetired;
}

void retire_process() noexcept {
  process.store(kRetired);
  used.store(0);
}

bool is_vfork_child() noexcept {
  if (is_retired()) return true;
  const std::atomic<bool>* const mark = own_mark.load(std::memory_order_relaxed);
  if (mark != nullptr && mark->load(std::memory_order_relaxed) && exs_sockets_vforks.load() == 0)
    return false;
  return raw::sys(SYS_getpid) != process.load(std::memory_order_relaxed);
}

void note_shared_memory() noexcept {
  exs_sockets_vforks.fetch_add(1);
}

void watch_for_forks() noexcept {
  if (!kSeesVforks || own_mark.load() != nullptr) return;
  const long page =
      raw::sys(SYS_mmap, 0, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -static_cast<long>(kPageBytes)) return;
  if (raw::sys(SYS_madvise, page, kPageBytes, MADV_WIPEONFORK) != 0) {
    raw::sys(SYS_munmap, page, kPageBytes);
    return;
  }
  auto* const mark = reinterpret_cast<std::atomic<bool>*>(page);
  mark->store(true);
  own_mark.store(mark);
}

void remember_process() noexcept {
  process.store(raw::sys(SYS_getpid));
  exs_sockets_vforks.store(0);
  if (std::atomic<bool>* const mark = own_mark.load()) mark->store(true);
  owner.store(0);
  depth.store(0);
  own_number = 0;
}

}  // namespace exs::sockets
