// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/segment.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets {
namespace {

constexpr long kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t kCapacityMin = 4096;

// A program with limited address space, or with locked memory, needs that for itself. The layer takes at most
// an eighth.
constexpr rlim_t kShare = 8;
std::atomic<std::size_t> mapped{0};
std::atomic<bool> all_is_locked{false};

rlim_t limit_of(int resource) noexcept {
  rlimit limit{};
  return raw::sys(SYS_prlimit64, 0, resource, nullptr, &limit) == 0 ? limit.rlim_cur : 0;
}

rlim_t space_limit() noexcept {
  const rlim_t space = limit_of(RLIMIT_AS);
  return all_is_locked.load() ? std::min(space, limit_of(RLIMIT_MEMLOCK)) : space;
}

bool may_map(std::size_t bytes) noexcept {
  const rlim_t limit = space_limit();
  return limit == RLIM_INFINITY || mapped.load() + bytes <= limit / kShare;
}

Segment* map(int descriptor, std::size_t bytes) noexcept {
  if (!may_map(bytes)) return nullptr;
  void* const place =
      raw::memory_of(raw::sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
  if (place == nullptr) return nullptr;
  mapped.fetch_add(bytes);
  return static_cast<Segment*>(place);
}

}  // namespace

bool is_space_limited() noexcept {
  return space_limit() != RLIM_INFINITY;
}

void note_locking(bool of_all) noexcept {
  all_is_locked.store(of_all);
}

Segment* create_segment(std::size_t capacity, std::uint8_t bell, int& descriptor) noexcept {
  if (!may_make_file(Segment::bytes(capacity))) return nullptr;
  const long memfd = raw::sys(SYS_memfd_create, "exs-sockets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memfd < 0) return nullptr;
  descriptor = static_cast<int>(memfd);
  const std::size_t bytes = Segment::bytes(capacity);
  Segment* segment = nullptr;
  if (raw::sys(SYS_ftruncate, memfd, bytes) == 0 && raw::sys(SYS_fcntl, memfd, F_ADD_SEALS, kSeals) == 0)
    segment = map(descriptor, bytes);
  if (segment == nullptr) {
    raw::sys(SYS_close, memfd);
    return nullptr;
  }
  segment->magic = kSegmentMagic;
  segment->capacity = capacity;
  segment->bell = bell;
  for (Direction* direction : {&segment->from_called, &segment->from_caller}) {
    direction->turn.store(lane::kNoTurn);
    direction->sleep.store(lane::kArmed);
  }
  return segment;
}

Segment* map_segment(int descriptor, std::size_t& capacity) noexcept {
  struct stat about {};
  // First, because the owner of another kind of file could delay the other questions.
  const long seals = raw::sys(SYS_fcntl, descriptor, F_GET_SEALS, 0);
  if (seals < 0 || (seals & kSeals) != kSeals) return nullptr;
  if (raw::sys(SYS_fstat, descriptor, &about) != 0) return nullptr;
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes < Segment::bytes(kCapacityMin) || bytes > Segment::bytes(kCapacityMax)) return nullptr;
  capacity = (bytes - kHeaderBytes) / 2;
  if ((capacity & (capacity - 1)) != 0 || Segment::bytes(capacity) != bytes) return nullptr;
  Segment* segment = map(descriptor, bytes);
  if (segment == nullptr) return nullptr;
  if (segment->magic == kSegmentMagic && segment->capacity == capacity) return segment;
  unmap_segment(segment, capacity);
  return nullptr;
}

bool part_from_segment(Segment& segment, std::size_t capacity) noexcept {
  const std::size_t bytes = Segment::bytes(capacity);
  void* const own = raw::memory_of(raw::sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (own == nullptr) return false;
  std::memcpy(own, static_cast<const void*>(&segment), kHeaderBytes);
  raw::sys(SYS_mremap, own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, &segment);
  return true;
}

void unmap_rings(Segment& segment, std::size_t capacity) noexcept {
  raw::sys(SYS_munmap, segment.ring(true, capacity), 2 * capacity);
  mapped.fetch_sub(2 * capacity);
}

bool has_rings() noexcept {
  return mapped.load() > 0;
}

bool lock_too_much() noexcept {
  const rlim_t limit = limit_of(RLIMIT_MEMLOCK);
  return limit != RLIM_INFINITY && mapped.load() > limit / kShare;
}

void unmap_segment(Segment* segment, std::size_t capacity) noexcept {
  raw::sys(SYS_munmap, segment, Segment::bytes(capacity));
  mapped.fetch_sub(Segment::bytes(capacity));
}

}  // namespace exs::sockets
