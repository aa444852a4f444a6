// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/registered_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/support/driven_port.h"
#include "tests/support/pattern.h"

namespace exs::test {

RegisteredMemory::RegisteredMemory(Provider* provider, std::size_t bytes, bool shared)
    : provider_(provider), bytes_(bytes) {
  static std::uint32_t last_key = 0;
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  if (shared) {
    fd_ = UniqueFd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(fd_.valid() && ::ftruncate(fd_.get(), static_cast<off_t>(mapped)) == 0, "memfd");
    require(::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0, "seals");
  }
  void* const start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                             shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd_.get(), 0);
  require(start != MAP_FAILED, "mmap");
  start_ = static_cast<std::byte*>(start);
  if (provider_ == nullptr) return;
  key_.value = ++last_key;
  require(provider_->register_memory(key_, {start_, mapped}, Access::kRemoteReadWrite, fd_.get()).ok(),
          "register_memory");
}

RegisteredMemory::~RegisteredMemory() {
  if (provider_ != nullptr) provider_->deregister_memory(key_);
  ::munmap(start_, std::max<std::size_t>(bytes_, 1));
}

void RegisteredMemory::fill(std::span<const std::byte> content) {
  if (!content.empty()) std::memcpy(start_, content.data(), content.size());
}

bool RegisteredMemory::holds(std::span<const std::byte> expected, std::size_t offset) const {
  return equal_bytes(expected, {start_ + offset, expected.size()});
}

}  // namespace exs::test
