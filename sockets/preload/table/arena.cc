// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/arena.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/check.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets {
namespace {

// The first slot of each piece; null: not mapped.
std::atomic<FamilySlot*> pieces[kPieces];
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

constexpr std::size_t first_slot_in(std::uint32_t piece) noexcept {
  return place_of_slot(piece * kSlotsPerPiece) - begin_of_piece(piece);
}
std::byte* begin_at(std::uint32_t piece, FamilySlot* first) noexcept {
  return reinterpret_cast<std::byte*>(first) - first_slot_in(piece);
}
FamilySlot* first_at(std::uint32_t piece, long result) noexcept {
  void* const place = raw::memory_of(result);
  return place == nullptr
             ? nullptr
             : reinterpret_cast<FamilySlot*>(static_cast<std::byte*>(place) + first_slot_in(piece));
}

// Without a descriptor it maps anonymous memory. Null: refused.
FamilySlot* map_piece(std::uint32_t piece, int descriptor) noexcept {
  const int kind = descriptor < 0 ? MAP_ANONYMOUS : 0;
  return first_at(piece, raw::sys(SYS_mmap, 0, bytes_of_piece(piece), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_NORESERVE | kind, descriptor, begin_of_piece(piece)));
}
void unmap_piece(std::uint32_t piece, FamilySlot* first) noexcept {
  if (first != nullptr) raw::sys(SYS_munmap, begin_at(piece, first), bytes_of_piece(piece));
}
// Maps the same memory a second time. Null: refused.
FamilySlot* view_of(std::uint32_t piece, FamilySlot* first) noexcept {
  return first_at(piece,
                  raw::sys(SYS_mremap, begin_at(piece, first), 0, bytes_of_piece(piece), MREMAP_MAYMOVE, 0));
}

ArenaHeader& header_in(FamilySlot* first) noexcept {
  return *reinterpret_cast<ArenaHeader*>(begin_at(0, first));
}

bool is_made() noexcept {
  return pieces[0].load(std::memory_order_acquire) != nullptr;
}

bool make_arena() noexcept {
  if (is_made()) return true;
  const int descriptor = make_memfd();
  FamilySlot* const made = map_piece(0, descriptor);
  if (made != nullptr) header_in(made) = kArenaHeader;
  FamilySlot* none = nullptr;
  if (made != nullptr && pieces[0].compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
    memfd.store(descriptor);
    return true;
  }
  unmap_piece(0, made);
  if (descriptor >= 0) close_hidden(descriptor);
  return none != nullptr;
}

// The arena must exist. Null: no memory.
FamilySlot* make_slot(std::uint32_t index) noexcept {
  const std::uint32_t piece = index / kSlotsPerPiece;
  FamilySlot* first = pieces[piece].load(std::memory_order_acquire);
  if (first == nullptr) {
    FamilySlot* const made = map_piece(piece, arena_descriptor());
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
  FamilySlot* first[kPieces] = {};
  std::uint32_t count = 0;  // pieces that it maps, from the first one

  [[nodiscard]] FamilySlot& at(std::uint32_t index) const noexcept {
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
  each_kept(at, keeps, [locks](std::uint32_t, FamilySlot& slot) EXS_NO_THREAD_SAFETY_ANALYSIS {
    for (SharedLock* const lock : {&slot.sending, &slot.receiving}) {
      if (locks) {
        static_cast<void>(lock->acquire());
      } else {
        lock->release();
      }
    }
  });
}
void copy_kept(const Pieces& from, const Pieces& to, bool (*keeps)(std::uint32_t)) noexcept {
  header_in(to.first[0]) = kArenaHeader;
  for (std::uint32_t index = 1; index < from.slots() && from.at(index).generation.load() != 0; ++index)
    // Marks every slot that was ever used; each_kept() stops at the first unused one.
    to.at(index).generation.store(1);
  each_kept(from, keeps, [&to](std::uint32_t index, FamilySlot& slot) {
    // cppcheck-suppress memsetClass ; no thread uses either slot now
    std::memcpy(reinterpret_cast<std::byte*>(&to.at(index)), reinterpret_cast<const std::byte*>(&slot),
                sizeof(FamilySlot));
  });
}
// Releases, in the old memory, the locks that were taken before the move. This is done by hand because the
// thread's robust list names their old addresses. Waiting threads of ours then look at that address again.
void release_behind(const Pieces& before, bool (*keeps)(std::uint32_t)) noexcept {
  each_kept(before, keeps, [](std::uint32_t, FamilySlot& slot) {
    for (SharedLock* const lock : {&slot.sending, &slot.receiving}) {
      auto& mutex = lock->mutex.__data;
      mutex.__owner = 0;
      --mutex.__nusers;
      std::atomic_ref(mutex.__lock).store(0);
      raw::sys(SYS_futex, &mutex.__lock, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  });
}

// No other thread knows the slot.
void clear(FamilySlot& slot, std::uint32_t index) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  slot.index = index;
  if (!slot.locks_made) {
    slot.sending.make();
    slot.receiving.make();
    slot.locks_made = true;
  }
  slot.why.store(Why::kNone);
  slot.is_caller = slot.lane.is_foreign = slot.lane.was_between = false;
  slot.meeting.is_busy.store(false);
  slot.rule.store(0);
  slot.processes.store(1);
  slot.meeting.calls.store(0);
  slot.meeting.bytes.store(0);
  slot.waits.told.store(0);
  slot.waits.sleepers.store(0);
  slot.waits.needs_bells.store(false);
  slot.waits.wants_each_bell.store(false);
  slot.waits.patience = {};
  slot.waits.is_blocking.store(false);
  slot.meeting.since_ns.store(0);
  slot.meeting.tried_ns.store(0);
  slot.meeting.arrivals_left.store(0);
  slot.meeting.watched_sends.store(0);
  slot.turned_for.store(Why::kNone);
  slot.inode = 0;
  slot.lane.capacity = 0;
  slot.lane.peer = 0;
  slot.lane.peers_number = -1;
  slot.receives.store(ReceivePath::kTcp);
  slot.end.store(SlotEnd::kOpen);
  slot.options.shut.store(0);
  slot.options.send_buffer = 0;
  slot.options.low_water = 0;
  slot.options.holds_more.store(false);
  slot.options.corked = slot.options.nodelay = slot.options.resets = false;
  slot.checked_ns = 0;
  slot.ring_touched = 0;
  slot.sending.owner_died = slot.receiving.owner_died = false;
  slot.sender = {};
  slot.receiver = {};
  for (auto* count : {&slot.counters.ring_sent, &slot.counters.tcp_sent, &slot.counters.bells,
                      &slot.counters.turns, &slot.counters.ring_received, &slot.counters.tcp_received,
                      &slot.counters.sleeps, &slot.counters.looks_found, &slot.counters.looks_missed})
    count->store(0);
  slot.generation.fetch_add(1);
}

}  // namespace

FamilySlot& slot_at(std::uint32_t index) noexcept {
  EXS_DEBUG_CHECK(index > 0 && index < kSlots && pieces[index / kSlotsPerPiece].load() != nullptr);
  return pieces[index / kSlotsPerPiece].load(std::memory_order_acquire)[index % kSlotsPerPiece];
}

FamilySlot* find_slot(std::uint32_t index) noexcept {
  return index > 0 && index < kSlots && is_made() ? make_slot(index) : nullptr;
}

std::uint32_t index_of(const FamilySlot& slot) noexcept {
  return slot.index;
}

std::uint32_t take_slot() noexcept {
  if (!make_arena()) return 0;
  std::uint32_t index = hint.load(std::memory_order_relaxed);
  for (std::uint32_t tried = 1; tried < kSlots; ++tried, ++index) {
    if (index == 0 || index >= kSlots) index = 1;
    FamilySlot* const found = make_slot(index);
    if (found == nullptr) return 0;
    FamilySlot& slot = *found;
    // A thread may still be in the kernel with the slot's previous connection.
    if (slot.waits.in_receive.load() != 0 || is_in_kernels_send(slot)) continue;
    if (!change_state(slot.stage, Stage::kFree, Stage::kPlain)) continue;
    clear(slot, index);
    hint.store(index + 1, std::memory_order_relaxed);
    enter_state(slot.stage, Stage::kNoted);
    return index;
  }
  return 0;
}

void free_slot(std::uint32_t index) noexcept {
  enter_state(slot_at(index).stage, Stage::kFree);
  if (index < hint.load(std::memory_order_relaxed)) hint.store(index, std::memory_order_relaxed);
}

Segment* map_unread(std::uint32_t index, std::size_t bytes) noexcept {
  const int descriptor = arena_descriptor();
  if (descriptor < 0) return nullptr;
  return static_cast<Segment*>(
      raw::memory_of(raw::sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                              descriptor, place_of_unread(index))));
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
  FamilySlot* const inherited = map_piece(0, descriptor);
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

}  // namespace exs::sockets
