#include "tests/support/failing_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace exs::test {
namespace {

constexpr std::uint32_t kNever = UINT32_MAX;

std::atomic<bool> counts = false;
std::atomic<std::uint32_t> allocations = 0;
std::atomic<std::uint32_t> first_failing = kNever;
std::atomic<std::uint32_t> failing = 1;
std::atomic<bool> has_failed = false;
thread_local bool is_exempt = false;

bool is_to_fail() {
  if (!counts.load(std::memory_order_relaxed) || is_exempt) return false;
  const std::uint32_t number = allocations.fetch_add(1);
  const bool fails = number - first_failing < failing && number >= first_failing;
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

void count_allocations(std::uint32_t fails_at, std::uint32_t how_many) {
  is_exempt = true;
  allocations = 0;
  has_failed = false;
  first_failing = fails_at;
  failing = how_many;
  counts = true;
}

bool stop_counting_allocations() {
  counts = false;
  return has_failed;
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
// NOLINTEND(misc-new-delete-overloads)
