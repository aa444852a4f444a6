// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/mapping.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "base/kernel.h"
#include "base/memory_file.h"

namespace exs::shm {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Excludes huge pages, because a page without backing raises SIGBUS. Only a memfd reports its seals.
bool has_this_size_for_ever(int descriptor, std::size_t bytes) {
  const int seals = kernel::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) return false;
  struct stat file {};
  struct statfs home {};
  if (kernel::fstat(descriptor, &file) != 0 || kernel::fstatfs(descriptor, &home) != 0) return false;
  return home.f_type == TMPFS_MAGIC && S_ISREG(file.st_mode) && file.st_size >= 0 &&
         static_cast<std::size_t>(file.st_size) == bytes;
}

}  // namespace

Result<Mapping> Mapping::map(int descriptor, std::size_t bytes) {
  void* start = kernel::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) return failure(errno);
  kernel::madvise(start, bytes, MADV_DONTFORK);  // a child could disturb the connections of its parent
  return Mapping({static_cast<std::byte*>(start), bytes});
}

Result<Mapping> Mapping::create(std::size_t bytes, UniqueFd& descriptor_out) {
  UniqueFd descriptor(create_memory_file("exs-shm"));
  if (!descriptor.valid()) return failure(errno);
  if (kernel::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) return failure(errno);
  if (kernel::fcntl(descriptor.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) return failure(errno);
  Result<Mapping> mapping = map(descriptor.get(), bytes);
  if (mapping) descriptor_out = std::move(descriptor);
  return mapping;
}

Result<Mapping> Mapping::of_peer(int descriptor, std::size_t bytes) {
  if (!has_this_size_for_ever(descriptor, bytes)) return failure(EPROTO);
  Result<Mapping> mapping = map(descriptor, bytes);
  if (mapping || mapping.error().error() == ENOMEM) return mapping;
  return failure(EPROTO);
}

Mapping::~Mapping() {
  if (!bytes_.empty()) kernel::munmap(bytes_.data(), bytes_.size());
}

}  // namespace exs::shm
