#include "sockets/preload/arena.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "sockets/preload/hidden.h"
#include "sockets/preload/raw.h"

namespace exs::sockets {
namespace {

std::atomic<Arena*> arena{nullptr};
std::atomic<std::uint32_t> hint{1};

std::atomic<int> memfd{-1};  // whoever closes numbers that he does not know may close it
std::atomic<bool> relatives{false};

bool is_arena(int descriptor) noexcept {
  struct stat about {};
  return descriptor >= 0 && raw::sys(SYS_fcntl, descriptor, F_GET_SEALS, 0) == kArenaSeals &&
         raw::sys(SYS_fstat, descriptor, &about) == 0 &&
         static_cast<std::size_t>(about.st_size) == kArenaBytes;
}

// -1: refused; then there is nothing to hand over, and all else works.
int make_memfd() noexcept {
  if (!may_make_file(kArenaBytes) || !may_hide()) return -1;
  const auto descriptor =
      static_cast<int>(raw::sys(SYS_memfd_create, kArenaName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (descriptor < 0) return -1;
  if (raw::sys(SYS_ftruncate, descriptor, kArenaBytes) == 0 &&
      raw::sys(SYS_fcntl, descriptor, F_ADD_SEALS, kArenaSeals) == 0)
    return hide(descriptor);
  raw::sys(SYS_close, descriptor);
  return -1;
}

Arena* map_arena(int descriptor) noexcept {
  const int kind = descriptor < 0 ? MAP_ANONYMOUS : 0;
  const long place = raw::sys(SYS_mmap, 0, kSlotsBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE | kind, descriptor, 0);
  return place < 0 && place > -static_cast<long>(kArenaPage) ? nullptr : reinterpret_cast<Arena*>(place);
}

void unmap_arena(Arena* mapped) noexcept {
  if (mapped != nullptr) raw::sys(SYS_munmap, mapped, kSlotsBytes);
}

// The same memory once more; null: refused.
Arena* view_of(Arena& at) noexcept {
  const long place = raw::sys(SYS_mremap, &at, 0, kSlotsBytes, MREMAP_MAYMOVE, 0);
  return place < 0 && place > -static_cast<long>(kArenaPage) ? nullptr : reinterpret_cast<Arena*>(place);
}

bool make_arena() noexcept {
  if (arena.load(std::memory_order_acquire) != nullptr) return true;
  const int descriptor = make_memfd();
  Arena* const made = map_arena(descriptor);
  if (made != nullptr) made->header = kArenaHeader;
  Arena* none = nullptr;
  if (made != nullptr && arena.compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
    memfd.store(descriptor);
    return true;
  }
  unmap_arena(made);
  if (descriptor >= 0) close_hidden(descriptor);
  return none != nullptr;
}

// Both locks of each slot that a process keeps: no thread is inside of one while its memory moves.
void lock_kept(Arena& at, bool (*keeps)(std::uint32_t), bool locks) noexcept {
  for (std::uint32_t index = 1; index < kSlots && at.slots[index].generation.load() != 0; ++index) {
    if (!keeps(index)) continue;
    for (SharedLock* const lock : {&at.slots[index].sending, &at.slots[index].receiving}) {
      if (!locks) {
        pthread_mutex_unlock(&lock->mutex);
      } else if (pthread_mutex_lock(&lock->mutex) == EOWNERDEAD) {
        lock->owner_died = true;
        pthread_mutex_consistent(&lock->mutex);
      }
    }
  }
}
void copy_kept(Arena& from, Arena& to, bool (*keeps)(std::uint32_t)) noexcept {
  to.header = kArenaHeader;
  for (std::uint32_t index = 1; index < kSlots && from.slots[index].generation.load() != 0; ++index) {
    to.slots[index].generation.store(1);  // the slots that were ever used lie together
    if (!keeps(index)) continue;
    std::memcpy(reinterpret_cast<std::byte*>(&to.slots[index]),
                reinterpret_cast<const std::byte*>(&from.slots[index]), sizeof(Slot));
  }
}
// The locks that were taken before the memory moved are held there, too. By hand, because the list of what a thread holds tells of
// the place that they had. Threads of ours that wait there look at that place again.
void release_behind(Arena& before, bool (*keeps)(std::uint32_t)) noexcept {
  for (std::uint32_t index = 1; index < kSlots && before.slots[index].generation.load() != 0; ++index) {
    if (!keeps(index)) continue;
    for (SharedLock* const lock : {&before.slots[index].sending, &before.slots[index].receiving}) {
      auto& mutex = lock->mutex.__data;
      mutex.__owner = 0;
      --mutex.__nusers;
      std::atomic_ref(mutex.__lock).store(0);
      raw::sys(SYS_futex, &mutex.__lock, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  }
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
    make_lock(slot.sending.mutex);
    make_lock(slot.receiving.mutex);
    slot.locks_made = true;
  }
  slot.why.store(Why::kNone);
  slot.is_caller = slot.is_foreign = slot.was_between = false;
  slot.is_meeting.store(false);
  slot.rule.store(0);
  slot.processes.store(1);
  slot.calls.store(0);
  slot.bytes.store(0);
  slot.told.store(0);
  slot.sleepers.store(0);
  slot.needs_bells.store(false);
  slot.wants_each_bell.store(false);
  slot.patience = {};
  slot.waits.store(false);
  slot.since_ns.store(0);
  slot.tried_ns.store(0);
  slot.inode = 0;
  slot.capacity = 0;
  slot.peer = 0;
  slot.peers_number = -1;
  slot.receives_in_lane.store(false);
  slot.carried.store(false);
  slot.takes_along.store(false);
  slot.is_being_reset.store(false);
  slot.shut.store(0);
  slot.send_buffer = 0;
  slot.low_water = 0;
  slot.holds_more.store(false);
  slot.corked = slot.nodelay = slot.resets = slot.end_seen = slot.leaving = false;
  slot.checked_ns = 0;
  slot.ring_touched = 0;
  slot.sending.owner_died = slot.receiving.owner_died = false;
  slot.sender = {};
  slot.receiver = {};
  for (auto* count : {&slot.ring_sent, &slot.tcp_sent, &slot.bells, &slot.turns, &slot.ring_received,
                      &slot.tcp_received, &slot.sleeps, &slot.looks_found, &slot.looks_missed})
    count->store(0);
  slot.generation.fetch_add(1);
}

}  // namespace

Slot& slot_at(std::uint32_t index) noexcept {
  return arena.load(std::memory_order_acquire)->slots[index];
}

std::uint32_t index_of(const Slot& slot) noexcept {
  return static_cast<std::uint32_t>(&slot - arena.load(std::memory_order_acquire)->slots);
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

Segment* map_unread(std::uint32_t index, std::size_t bytes) noexcept {
  const int descriptor = arena_descriptor();
  if (descriptor < 0) return nullptr;
  const long place = raw::sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                              descriptor, place_of_unread(index));
  return place < 0 && place > -static_cast<long>(kArenaPage) ? nullptr : reinterpret_cast<Segment*>(place);
}

void unmap_unread(Segment* mapped, std::size_t capacity) noexcept {
  raw::sys(SYS_munmap, mapped, Segment::bytes(capacity));
}

void forget_unread(std::uint32_t index) noexcept {
  const int descriptor = arena_descriptor();
  if (descriptor < 0) return;
  raw::sys(SYS_fallocate, descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of_unread(index),
           kUnreadBytes);
}

int arena_descriptor() noexcept {
  const int descriptor = memfd.load();
  return is_arena(descriptor) ? descriptor : -1;
}

void close_arena() noexcept {
  const int descriptor = arena_descriptor();
  memfd.store(-1);
  if (descriptor >= 0) close_hidden(descriptor);
}

bool adopt_arena(int descriptor) noexcept {
  if (!is_arena(descriptor)) return false;
  Arena* const inherited = map_arena(descriptor);
  if (inherited == nullptr) return false;
  if (!(inherited->header == kArenaHeader)) {  // of another build
    raw::sys(SYS_munmap, inherited, kSlotsBytes);
    return false;
  }
  arena.store(inherited);
  relatives.store(true);
  memfd.store(hide(descriptor));
  return true;
}

void note_relatives() noexcept {
  if (arena.load() != nullptr) relatives.store(true);
}

bool has_relatives() noexcept {
  return relatives.load();
}

bool part_from_relatives(bool (*keeps)(std::uint32_t)) noexcept {
  Arena* const at = arena.load();
  if (at == nullptr || !relatives.exchange(false)) return true;
  const int old_memfd = arena_descriptor();
  const int own_memfd = make_memfd();
  Arena* const own = map_arena(own_memfd);
  Arena* const before = view_of(*at);
  const bool has_memory = own != nullptr && before != nullptr;
  if (has_memory) {
    lock_kept(*at, keeps, true);
    copy_kept(*at, *own, keeps);
    raw::sys(SYS_mremap, own, kSlotsBytes, kSlotsBytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    lock_kept(*at, keeps, false);
    release_behind(*before, keeps);
  } else {
    arena.store(nullptr);
    unmap_arena(at);
    unmap_arena(own);
    if (own_memfd >= 0) close_hidden(own_memfd);
  }
  unmap_arena(before);
  memfd.store(has_memory ? own_memfd : -1);
  if (old_memfd >= 0) close_hidden(old_memfd);
  return has_memory;
}

SlotLock::SlotLock(SharedLock& shared) noexcept : lock_(shared) {
  lock();
}

SlotLock::SlotLock(SharedLock& shared, std::try_to_lock_t) noexcept : lock_(shared) {
  take(pthread_mutex_trylock(&lock_.mutex));
}

void SlotLock::lock() noexcept {
  take(pthread_mutex_lock(&lock_.mutex));
}

void SlotLock::take(int error) noexcept {
  if (error == EOWNERDEAD) {
    lock_.owner_died = true;
    pthread_mutex_consistent(&lock_.mutex);
  }
  held_ = error == 0 || error == EOWNERDEAD;
}

}  // namespace exs::sockets
