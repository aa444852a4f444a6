// A library that is preloaded into programs: the allocation of that number by operator new fails, once. FAIL_NEW is the number, from 0
// on, and FAIL_NEW_REPORT the path of a file that exists when it has failed.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count{0};

long number_to_fail() {
  const char* const text = std::getenv("FAIL_NEW");
  return text == nullptr ? -1 : std::atol(text);
}

bool report() {
  const char* const path = std::getenv("FAIL_NEW_REPORT");
  const int file = path == nullptr ? -1 : open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

void* allocate(std::size_t bytes) noexcept {
  static const long failing = number_to_fail();
  if (count.fetch_add(1) == failing && report()) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocate_or_throw(std::size_t bytes) {
  void* const memory = allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

#define EXS_REPLACED __attribute__((visibility("default")))

EXS_REPLACED void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes);
}
EXS_REPLACED void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes);
}
EXS_REPLACED void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes);
}
EXS_REPLACED void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes);
}
EXS_REPLACED void operator delete(void* memory) noexcept {
  std::free(memory);
}
EXS_REPLACED void operator delete[](void* memory) noexcept {
  std::free(memory);
}
EXS_REPLACED void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
EXS_REPLACED void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
EXS_REPLACED void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
EXS_REPLACED void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
