// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/slot_memory.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/check.h"
#include "base/kernel.h"

namespace exs::rpc {

// Maps whole pages, which the kernel provides when a slot is first used.
Status SlotMemory::allocate(std::size_t slots) {
  EXS_CHECK(memory_ == nullptr);
  const std::size_t bytes = slots * kStride;
  void* const made = kernel::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return Status(errno);
  memory_ = static_cast<std::byte*>(made);
  bytes_ = bytes;
  region_ = exs_mregister(memory_, bytes_, EXS_MRF_LOCAL_ONLY);
  return region_ == EXS_MHANDLE_INVALID ? Status(errno) : Status();
}

SlotMemory::~SlotMemory() {
  if (region_ != EXS_MHANDLE_INVALID) exs_mderegister(region_, EXS_MRF_WAIT);
  if (memory_ != nullptr) kernel::munmap(memory_, bytes_);
}

}  // namespace exs::rpc
