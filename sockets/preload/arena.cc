#include "sockets/preload/arena.h"

#include <sys/mman.h>

#include <cerrno>

#include "sockets/preload/raw.h"

namespace exs::sockets {
namespace {

std::atomic<Slot*> arena{nullptr};
std::atomic<std::uint32_t> hint{1};

bool make_arena() noexcept {
  if (arena.load(std::memory_order_acquire) != nullptr) return true;
  constexpr std::size_t bytes = kSlots * sizeof(Slot);
  const long place =
      raw::sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place < 0 && place > -4096) return false;
  Slot* none = nullptr;
  if (!arena.compare_exchange_strong(none, reinterpret_cast<Slot*>(place), std::memory_order_acq_rel))
    raw::sys(SYS_munmap, place, bytes);
  return true;
}

void make_lock(pthread_mutex_t& mutex) noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void clear(Slot& slot) noexcept {
  if (!slot.locks_made) {
    make_lock(slot.sending);
    make_lock(slot.receiving);
    slot.locks_made = true;
  }
  slot.why.store(Why::kNone);
  slot.is_caller = false;
  slot.is_meeting.store(false);
  slot.processes.store(1);
  slot.calls.store(0);
  slot.bytes.store(0);
  slot.sleepers.store(0);
  slot.needs_bells.store(false);
  slot.patience = {};
  slot.since_ns.store(0);
  slot.cookie = 0;
  slot.capacity = 0;
  slot.receives_in_lane.store(false);
  slot.send_buffer = 0;
  slot.low_water = 0;
  slot.corked = slot.nodelay = slot.end_seen = slot.leaving = false;
  slot.checked_ns = 0;
  slot.sender = {};
  slot.receiver = {};
  for (auto* count : {&slot.ring_sent, &slot.tcp_sent, &slot.bells, &slot.turns, &slot.ring_received,
                      &slot.tcp_received, &slot.sleeps, &slot.looks_found, &slot.looks_missed})
    count->store(0);
  slot.generation.fetch_add(1);
}

}  // namespace

Slot& slot_at(std::uint32_t index) noexcept {
  return arena.load(std::memory_order_acquire)[index];
}

std::uint32_t take_slot() noexcept {
  if (!make_arena()) return 0;
  std::uint32_t index = hint.load(std::memory_order_relaxed);
  for (std::uint32_t tried = 1; tried < kSlots; ++tried, ++index) {
    if (index == 0 || index >= kSlots) index = 1;
    Slot& slot = slot_at(index);
    // A thread may still be inside the kernel with the connection of before.
    if (slot.in_receive.load() != 0 || slot.sender.in_tcp != 0) continue;
    Stage free = Stage::kFree;
    if (!slot.stage.compare_exchange_strong(free, Stage::kPlain)) continue;
    clear(slot);
    hint.store(index + 1, std::memory_order_relaxed);
    slot.stage.store(Stage::kNoted);
    return index;
  }
  return 0;
}

void free_slot(std::uint32_t index) noexcept {
  slot_at(index).stage.store(Stage::kFree);
  if (index < hint.load(std::memory_order_relaxed)) hint.store(index, std::memory_order_relaxed);
}

SlotLock::SlotLock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) {
  lock();
}

void SlotLock::lock() noexcept {
  const int error = pthread_mutex_lock(&mutex_);
  if (error == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  held_ = error == 0 || error == EOWNERDEAD;
}

}  // namespace exs::sockets
