// SPDX-License-Identifier: BSD-2-Clause
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

// The first slot of each piece; null: not mapped.
std::atomic<Slot*> pieces[kPieces];
std::atomic<std::uint32_t> hint{1};

std::atomic<int> memfd{-1};  // the program may close it without knowing
std::atomic<bool> relatives{false};

bool is_arena(int descriptor) noexcept {
  struct stat about {};
  return descriptor >= 0 && raw::sys(SYS_fcntl, descriptor, F_GET_SEALS, 0) == kArenaSeals &&
         raw::sys(SYS_fstat, descriptor, &about) == 0 &&
         static_cast<std::size_t>(about.st_size) == kArenaBytes;
}

// -1: refused; handover is not possible then, and everything else works.
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

bool is_refused(long place) noexcept {
  return place < 0 && place > -static_cast<long>(kArenaPage);
}
constexpr std::size_t first_slot_in(std::uint32_t piece) noexcept {
  return place_of_slot(piece * kSlotsPerPiece) - begin_of_piece(piece);
}
std::byte* begin_at(std::uint32_t piece, Slot* first) noexcept {
  return reinterpret_cast<std::byte*>(first) - first_slot_in(piece);
}
Slot* first_at(std::uint32_t piece, long place) noexcept {
  return is_refused(place)
             ? nullptr
             : reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(place) + first_slot_in(piece));
}

// Without a descriptor it maps anonymous memory. Null: refused.
Slot* map_piece(std::uint32_t piece, int descriptor) noexcept {
  const int kind = descriptor < 0 ? MAP_ANONYMOUS : 0;
  return first_at(piece, raw::sys(SYS_mmap, 0, bytes_of_piece(piece), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_NORESERVE | kind, descriptor, begin_of_piece(piece)));
}
void unmap_piece(std::uint32_t piece, Slot* first) noexcept {
  if (first != nullptr) raw::sys(SYS_munmap, begin_at(piece, first), bytes_of_piece(piece));
}
// Maps the same memory a second time. Null: refused.
Slot* view_of(std::uint32_t piece, Slot* first) noexcept {
  return first_at(piece,
                  raw::sys(SYS_mremap, begin_at(piece, first), 0, bytes_of_piece(piece), MREMAP_MAYMOVE, 0));
}

ArenaHeader& header_in(Slot* first) noexcept {
  return *reinterpret_cast<ArenaHeader*>(begin_at(0, first));
}

bool is_made() noexcept {
  return pieces[0].load(std::memory_order_acquire) != nullptr;
}

bool make_arena() noexcept {
  if (is_made()) return true;
  const int descriptor = make_memfd();
  Slot* const made = map_piece(0, descriptor);
  if (made != nullptr) header_in(made) = kArenaHeader;
  Slot* none = nullptr;
  if (made != nullptr && pieces[0].compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
    memfd.store(descriptor);
    return true;
  }
  unmap_piece(0, made);
  if (descriptor >= 0) close_hidden(descriptor);
  return none != nullptr;
}

// The arena must exist. Null: no memory.
Slot* make_slot(std::uint32_t index) noexcept {
  const std::uint32_t piece = index / kSlotsPerPiece;
  Slot* first = pieces[piece].load(std::memory_order_acquire);
  if (first == nullptr) {
    Slot* const made = map_piece(piece, arena_descriptor());
    if (made == nullptr) return nullptr;
    if (pieces[piece].compare_exchange_strong(first, made, std::memory_order_acq_rel)) {
      first = made;
    } else {
      unmap_piece(piece, made);
    }
  }
  return first + index % kSlotsPerPiece;
}

// The pieces of a process, also while they lie in other memory.
struct Pieces {
  Slot* first[kPieces] = {};
  std::uint32_t count = 0;  // pieces that it maps, from the first one

  [[nodiscard]] Slot& at(std::uint32_t index) const noexcept {
    return first[index / kSlotsPerPiece][index % kSlotsPerPiece];
  }
  [[nodiscard]] std::uint32_t slots() const noexcept { return count * kSlotsPerPiece; }
  void unmap() noexcept {
    for (std::uint32_t piece = 0; piece < count; ++piece) unmap_piece(piece, first[piece]);
  }
};

// Collects the pieces of this process and maps the holes between them. False: no memory.
bool collect(Pieces& own) noexcept {
  std::uint32_t count = kPieces;
  while (count > 0 && pieces[count - 1].load() == nullptr) --count;
  for (own.count = 0; own.count < count; ++own.count) {
    if (make_slot(own.count * kSlotsPerPiece) == nullptr) return false;
    own.first[own.count] = pieces[own.count].load();
  }
  return true;
}
template <typename Map>
bool map_all(Pieces& to, std::uint32_t count, const Map& map) noexcept {
  for (; to.count < count; ++to.count)
    if ((to.first[to.count] = map(to.count)) == nullptr) return false;
  return true;
}

// Calls use(index, slot) for each slot that the process keeps.
template <typename Use>
void each_kept(const Pieces& of, bool (*keeps)(std::uint32_t), const Use& use) noexcept {
  for (std::uint32_t index = 1; index < of.slots() && of.at(index).generation.load() != 0; ++index)
    if (keeps(index)) use(index, of.at(index));
}
// Takes or releases both locks of each kept slot, so that no thread uses one while its memory moves.
void lock_kept(const Pieces& at, bool (*keeps)(std::uint32_t), bool locks) noexcept {
  each_kept(at, keeps, [locks](std::uint32_t, Slot& slot) {
    for (SharedLock* const lock : {&slot.sending, &slot.receiving}) {
      if (!locks) {
        pthread_mutex_unlock(&lock->mutex);
      } else if (pthread_mutex_lock(&lock->mutex) == EOWNERDEAD) {
        lock->owner_died = true;
        pthread_mutex_consistent(&lock->mutex);
      }
    }
  });
}
void copy_kept(const Pieces& from, const Pieces& to, bool (*keeps)(std::uint32_t)) noexcept {
  header_in(to.first[0]) = kArenaHeader;
  for (std::uint32_t index = 1; index < from.slots() && from.at(index).generation.load() != 0; ++index)
    // Marks every slot that was ever used; each_kept() stops at the first unused one.
    to.at(index).generation.store(1);
  each_kept(from, keeps, [&to](std::uint32_t index, Slot& slot) {
    std::memcpy(reinterpret_cast<std::byte*>(&to.at(index)), reinterpret_cast<const std::byte*>(&slot),
                sizeof(Slot));
  });
}
// Releases, in the old memory, the locks that were taken before the move. This is done by hand because the
// thread's robust list names their old addresses. Waiting threads of ours then look at that address again.
void release_behind(const Pieces& before, bool (*keeps)(std::uint32_t)) noexcept {
  each_kept(before, keeps, [](std::uint32_t, Slot& slot) {
    for (SharedLock* const lock : {&slot.sending, &slot.receiving}) {
      auto& mutex = lock->mutex.__data;
      mutex.__owner = 0;
      --mutex.__nusers;
      std::atomic_ref(mutex.__lock).store(0);
      raw::sys(SYS_futex, &mutex.__lock, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  });
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

void clear(Slot& slot, std::uint32_t index) noexcept {
  slot.index = index;
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
  slot.arrivals_left.store(0);
  slot.watched_sends.store(0);
  slot.turned_for.store(Why::kNone);
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
  return pieces[index / kSlotsPerPiece].load(std::memory_order_acquire)[index % kSlotsPerPiece];
}

Slot* find_slot(std::uint32_t index) noexcept {
  return index > 0 && index < kSlots && is_made() ? make_slot(index) : nullptr;
}

std::uint32_t index_of(const Slot& slot) noexcept {
  return slot.index;
}

std::uint32_t take_slot() noexcept {
  if (!make_arena()) return 0;
  std::uint32_t index = hint.load(std::memory_order_relaxed);
  for (std::uint32_t tried = 1; tried < kSlots; ++tried, ++index) {
    if (index == 0 || index >= kSlots) index = 1;
    Slot* const found = make_slot(index);
    if (found == nullptr) return 0;
    Slot& slot = *found;
    // A thread may still be in the kernel with the slot's previous connection.
    if (slot.in_receive.load() != 0 || slot.sender.in_tcp != 0) continue;
    Stage free = Stage::kFree;
    if (!slot.stage.compare_exchange_strong(free, Stage::kPlain)) continue;
    clear(slot, index);
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
  Slot* const inherited = map_piece(0, descriptor);
  if (inherited == nullptr) return false;
  if (!(header_in(inherited) == kArenaHeader)) {  // of another build
    unmap_piece(0, inherited);
    return false;
  }
  pieces[0].store(inherited);
  relatives.store(true);
  memfd.store(hide(descriptor));
  return true;
}

void note_relatives() noexcept {
  if (is_made()) relatives.store(true);
}

bool has_relatives() noexcept {
  return relatives.load();
}

bool part_from_relatives(bool (*keeps)(std::uint32_t)) noexcept {
  if (!is_made() || !relatives.exchange(false)) return true;
  const int old_memfd = arena_descriptor();
  Pieces at;
  Pieces own;
  Pieces before;
  bool has_memory = collect(at);
  const int own_memfd = make_memfd();
  has_memory =
      has_memory &&
      map_all(own, at.count, [&](std::uint32_t piece) { return map_piece(piece, own_memfd); }) &&
      map_all(before, at.count, [&](std::uint32_t piece) { return view_of(piece, at.first[piece]); });
  if (has_memory) {
    lock_kept(at, keeps, true);
    copy_kept(at, own, keeps);
    for (std::uint32_t piece = 0; piece < at.count; ++piece)
      raw::sys(SYS_mremap, begin_at(piece, own.first[piece]), bytes_of_piece(piece), bytes_of_piece(piece),
               MREMAP_MAYMOVE | MREMAP_FIXED, begin_at(piece, at.first[piece]));
    lock_kept(at, keeps, false);
    release_behind(before, keeps);
  } else {
    for (auto& piece : pieces) piece.store(nullptr);
    at.unmap();
    own.unmap();
    if (own_memfd >= 0) close_hidden(own_memfd);
  }
  before.unmap();
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
