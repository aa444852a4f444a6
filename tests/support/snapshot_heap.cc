// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/snapshot_heap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace exs::test {
namespace {

constexpr std::size_t kGranuleBytes = 32;
constexpr std::size_t kGranules = 2048;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kSizes = 24;  // up to that many granules; longer blocks share a heap

// Which granules of a piece of memory are taken, and the granules. A block begins with the number of its granules.
struct Heap {
  std::uint64_t end;  // behind the last granule that is taken
  std::array<std::uint64_t, kGranules / kWordBits> taken;
  alignas(kGranuleBytes) std::array<std::byte, kGranules * kGranuleBytes> granules;

  static constexpr std::size_t kBlockHeadBytes = 16;

  [[nodiscard]] bool is_taken(std::size_t granule) const noexcept {
    return (taken[granule / kWordBits] >> granule % kWordBits & 1) != 0;
  }
  void flip(std::size_t first, std::size_t count) noexcept {
    for (std::size_t i = first; i < first + count; ++i)
      taken[i / kWordBits] ^= std::uint64_t{1} << i % kWordBits;
  }
  // All that is not zero.
  [[nodiscard]] std::span<std::byte> words() noexcept {
    return std::as_writable_bytes(std::span(taken).first((end + kWordBits - 1) / kWordBits));
  }
  [[nodiscard]] std::span<std::byte> used() noexcept {
    return std::span(granules).first(end * kGranuleBytes);
  }
  void clear() noexcept {
    std::memset(used().data(), 0, used().size());
    std::memset(words().data(), 0, words().size());
    end = 0;
  }

  // The lowest free stretch of that many.
  [[nodiscard]] std::size_t find(std::size_t count) const noexcept {
    std::size_t found = 0;
    for (std::size_t granule = 0; granule < kGranules; ++granule) {
      found = is_taken(granule) ? 0 : found + 1;
      if (found == count) return granule + 1 - count;
    }
    std::abort();  // make the heaps larger
  }
  void* allocate(std::size_t count) noexcept {
    const std::size_t first = find(count);
    flip(first, count);
    end = std::max<std::uint64_t>(end, first + count);
    std::byte* const block = granules.data() + first * kGranuleBytes;
    std::memcpy(block, &count, sizeof count);
    return block + kBlockHeadBytes;
  }
  void release(void* memory) noexcept {
    std::byte* const block = static_cast<std::byte*>(memory) - kBlockHeadBytes;
    std::size_t count = 0;
    std::memcpy(&count, block, sizeof count);
    flip(static_cast<std::size_t>(block - granules.data()) / kGranuleBytes, count);
    std::memset(block, 0, count * kGranuleBytes);
    while (end > 0 && !is_taken(end - 1)) --end;
  }
};

Heap heaps[kPlaces][kSizes];

void* allocate(std::size_t bytes) {
  if (current_place != Place::kOutside) {
    const std::size_t granules = (bytes + Heap::kBlockHeadBytes + kGranuleBytes - 1) / kGranuleBytes;
    return heaps[static_cast<std::size_t>(current_place)][std::min(granules, kSizes) - 1].allocate(granules);
  }
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) noexcept {
  if (!SnapshotHeaps::holds(memory)) return std::free(memory);
  const std::size_t offset =
      static_cast<std::size_t>(static_cast<std::byte*>(memory) - reinterpret_cast<std::byte*>(heaps));
  const std::size_t heap = offset / sizeof(Heap);
  heaps[heap / kSizes][heap % kSizes].release(memory);
}

}  // namespace

void SnapshotHeaps::clear() {
  for (auto& of_place : heaps)
    for (Heap& heap : of_place) heap.clear();
}

void SnapshotHeaps::add_to(Fingerprint& moment, Place place,
                           std::span<const std::span<const std::byte>> except) {
  for (Heap& heap : heaps[static_cast<std::size_t>(place)]) {
    moment.add(heap.end);
    moment.add(heap.words());
    std::span<const std::byte> rest = heap.used();
    for (const auto left_out : except) {
      if (left_out.data() < rest.data() || left_out.data() >= rest.data() + rest.size()) continue;
      const auto before = static_cast<std::size_t>(left_out.data() - rest.data());
      moment.add(rest.first(before));
      rest = rest.subspan(before + left_out.size());
    }
    moment.add(rest);
  }
}

bool SnapshotHeaps::holds(const void* memory) {
  const auto* const address = static_cast<const std::byte*>(memory);
  const auto* const start = reinterpret_cast<const std::byte*>(heaps);
  return address >= start && address < start + sizeof heaps;
}

void SnapshotHeaps::save(std::span<const std::span<std::byte>> elsewhere) {
  bytes_.clear();
  const auto append = [this](std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  };
  for (auto& of_place : heaps) {
    for (Heap& heap : of_place) {
      append(std::as_bytes(std::span(&heap.end, 1)));
      append(heap.words());
      append(heap.used());
    }
  }
  for (const auto bytes : elsewhere) append(bytes);
}

void SnapshotHeaps::put_back(std::span<const std::span<std::byte>> elsewhere) const {
  std::size_t at = 0;
  const auto take = [&](std::span<std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + at, bytes.size());
    at += bytes.size();
  };
  for (auto& of_place : heaps) {
    for (Heap& heap : of_place) {
      std::uint64_t end = 0;
      take(std::as_writable_bytes(std::span(&end, 1)));
      if (heap.end > end) heap.clear();
      heap.end = end;
      take(heap.words());
      take(heap.used());
    }
  }
  for (const auto bytes : elsewhere) take(bytes);
}

}  // namespace exs::test

// NOLINTBEGIN(misc-new-delete-overloads): all that the code under test uses are here
void* operator new(std::size_t bytes) {
  return exs::test::allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return exs::test::allocate(bytes);
}
void operator delete(void* memory) noexcept {
  exs::test::release(memory);
}
void operator delete[](void* memory) noexcept {
  exs::test::release(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  exs::test::release(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  exs::test::release(memory);
}
// NOLINTEND(misc-new-delete-overloads)
