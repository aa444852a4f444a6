// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/failing_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace exs::test {
namespace {

std::atomic<bool> counts = false;
std::atomic<std::uint32_t> allocations = 0;
Shortage shortage_of_now;  // written while nothing is counted
std::atomic<bool> has_failed = false;
thread_local bool is_exempt = false;

// The finalizer of MurmurHash3, which mixes neighbouring numbers well.
std::uint32_t mixed(std::uint32_t bits) {
  bits = (bits ^ bits >> 16) * 0x85eb'ca6bU;
  bits = (bits ^ bits >> 13) * 0xc2b2'ae35U;
  return bits ^ bits >> 16;
}

bool is_among(const Shortage& shortage, std::uint32_t number) {
  if (shortage.one_in != 0) return mixed(number ^ mixed(shortage.seed)) % shortage.one_in == 0;
  return number >= shortage.first && number - shortage.first < shortage.how_many;
}

bool is_to_fail() {
  if (!counts.load(std::memory_order_acquire) || is_exempt) return false;
  const bool fails = is_among(shortage_of_now, allocations.fetch_add(1));
  if (fails) has_failed = true;
  return fails;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (is_to_fail()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void count_allocations(const Shortage& shortage) {
  is_exempt = true;
  allocations = 0;
  has_failed = false;
  shortage_of_now = shortage;
  counts = true;
}

bool stop_counting_allocations() {
  counts = false;
  return has_failed;
}

std::uint32_t counted_allocations() {
  return allocations;
}

CountedCall::CountedCall() {
  is_exempt = false;
}

CountedCall::~CountedCall() {
  is_exempt = true;
}

}  // namespace exs::test

// NOLINTBEGIN(misc-new-delete-overloads): all of them are here
void* operator new(std::size_t bytes) {
  return exs::test::allocate_or_throw(bytes, 0);
}
void* operator new[](std::size_t bytes) {
  return exs::test::allocate_or_throw(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return exs::test::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return exs::test::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return exs::test::allocate(bytes, 0);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return exs::test::allocate(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return exs::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return exs::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads)
