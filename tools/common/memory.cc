// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tools/common/failure.h"

namespace tools {
namespace {

constexpr std::size_t kAlignment = 64;

std::byte* map_pages(std::size_t length) {
  void* pages = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail("cannot map " + std::to_string(length) + " bytes", errno);
  return static_cast<std::byte*>(pages);
}

}  // namespace

Memory::Memory(std::size_t length, MemoryKind kind) {
  const std::string bytes = std::to_string(length) + " bytes";
  if (kind == MemoryKind::alloc) {
    try_to("exs_alloc of " + bytes, [&] { buffer_.emplace(length); });
    bytes_ = buffer_->bytes();
    return;
  }
  pages_ = {map_pages(length), Unmap{length}};
  bytes_ = {pages_.get(), length};
  try_to("cannot register " + bytes, [&] { region_.emplace(bytes_); });
}

void Memory::Unmap::operator()(std::byte* pages) const {
  munmap(pages, length);
}

Slots::Slots(std::size_t size_bytes, std::size_t count, MemoryKind kind)
    : size_bytes_(size_bytes),
      stride_((size_bytes + kAlignment - 1) / kAlignment * kAlignment),
      count_(count),
      memory_(stride_ * count, kind) {}

std::span<std::byte> Slots::slot(std::uint64_t message) const {
  return memory_.bytes().subspan(static_cast<std::size_t>(message % count_) * stride_, size_bytes_);
}

void Slots::touch() {
  std::memset(memory_.bytes().data(), 0x5a, memory_.bytes().size());
}

}  // namespace tools
