// exs_mregister, exs_mderegister, exs_alloc, exs_free.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/kernel.h"
#include "base/memory_file.h"
#include "base/refusal.h"
#include "base/undo.h"
#include "src/api/api_call.h"
#include "src/log/log.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

constexpr int kRemoteFlags = EXS_MRF_REMOTE_READ | EXS_MRF_REMOTE_WRITE;
constexpr int kKnownFlags = EXS_MRF_SHARED | EXS_MRF_LOCAL_ONLY | kRemoteFlags;

Result<Access> access_of(int flags) {
  const bool local_only = (flags & EXS_MRF_LOCAL_ONLY) != 0;
  if ((flags & ~kKnownFlags) != 0 || (local_only && (flags & kRemoteFlags) != 0))
    return failure(
        refuse(EINVAL,
               "the flags {:#x} do not go together: EXS_MRF_LOCAL_ONLY goes with none of EXS_MRF_REMOTE_READ "
               "and EXS_MRF_REMOTE_WRITE, and EXS_MRF_SHARED with all",
               flags));
  if (local_only) return Access::kLocal;
  switch (flags & kRemoteFlags) {
    case EXS_MRF_REMOTE_READ: return Access::kRemoteRead;
    case EXS_MRF_REMOTE_WRITE: return Access::kRemoteWrite;
    default: return Access::kRemoteReadWrite;
  }
}

// `shared_fd`: the memfd that exs_alloc mapped; -1: the application's own memory.
Result<exs_mhandle_t> add_region(Library& library, std::span<std::byte> range, Access access, bool writable,
                                 int shared_fd) {
  const auto key = providers().register_memory(range, access, shared_fd);
  if (!key) return failure(key.error());
  Undo undo([&] { providers().deregister_memory(*key); });
  const int handle =
      library.regions.insert(std::make_shared<Region>(range, access, *key, shared_fd >= 0, writable));
  if (handle != 0) {
    undo.cancel();
    return static_cast<exs_mhandle_t>(handle);
  }
  return failure(refuse(ENOMEM, "{} regions are the most: register larger ones, or deregister some",
                        HandleTable<Region>::kMost));
}

void forget_region(Library& library, int handle, const Region& region) {
  library.regions.remove(handle);
  providers().deregister_memory(region.key());
}

void free_allocation(Library& library, int handle, const Region& region) {
  library.forget_allocation(region.range().data());
  forget_region(library, handle, region);
  kernel::munmap(region.range().data(), region.range().size());
}

Status release_allocation(Library& library, void* address) {
  const exs_mhandle_t handle = library.allocation_at(address);
  const auto region = library.regions.find(handle);
  if (!region) return refuse(EINVAL, "no memory of exs_alloc begins there, or it is freed already");
  if (!region->retire()) return region_in_use(handle);
  free_allocation(library, handle, *region);
  return Status();
}

struct SharedMemory {
  std::span<std::byte> range;
  UniqueFd descriptor;
};

const char* cure_of(int error) noexcept {
  switch (error) {
    case ENOMEM:
      return "ask for less, or raise the limit of memory (ulimit -v, ulimit -l after mlockall, memory.max)";
    case EMFILE:
    case ENFILE: return "raise the limit of descriptors (ulimit -n), or free memory of exs_alloc";
    default:
      return "allow the call (docker run --security-opt seccomp=PROFILE), or register memory of your own by "
             "exs_mregister";
  }
}

// The refusal of a kernel call, with `errno`. exs_alloc returns ENOMEM in any case.
Status refused_memory(const char* call) noexcept {
  const int error = errno;
  std::array<char, kSentenceBytesMax> room;
  const auto made =
      fmt::format_to_n(room.begin(), room.size(), "{}: {}; {}", call, std::strerror(error), cure_of(error));
  return refuse_in_words(ENOMEM, {room.data(), std::min(made.size, room.size())});
}

// Sealed, so that the memory of a peer that maps it cannot shrink.
Result<SharedMemory> map_shared_memory(std::size_t length_bytes) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (length_bytes > SIZE_MAX - page_bytes) return failure(ENOMEM);
  const std::size_t mapped_bytes = (length_bytes + page_bytes - 1) & ~(page_bytes - 1);
  UniqueFd memory = create_memory_file("exs");
  if (!memory.valid()) return failure(refused_memory("memfd_create"));
  if (kernel::ftruncate(memory.get(), static_cast<off_t>(mapped_bytes)) != 0)
    return failure(refused_memory("ftruncate of a memfd"));
  if (kernel::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return failure(refused_memory("sealing a memfd"));
  void* address = kernel::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return failure(refused_memory("mmap of a memfd"));
  kernel::madvise(address, mapped_bytes,
                  MADV_DONTFORK);  // what a child has there instead the shm provider says
  return SharedMemory{{static_cast<std::byte*>(address), mapped_bytes}, std::move(memory)};
}

}  // namespace

// mincore() returns ENOMEM for a range with holes, and reads no memory.
bool is_mapped(const void* address, std::size_t length_bytes) {
  constexpr std::size_t kPagesPerCall = 16384;
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (length_bytes > UINTPTR_MAX - start) return false;
  const std::size_t into_page_bytes = start % page_bytes;
  std::uintptr_t at = start - into_page_bytes;
  std::size_t left_bytes = length_bytes + into_page_bytes;
  std::vector<unsigned char> resident(std::min(kPagesPerCall, left_bytes / page_bytes + 1));
  while (left_bytes > 0) {
    const std::size_t step_bytes = std::min(left_bytes, kPagesPerCall * page_bytes);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): pages are counted by number
    if (kernel::mincore(reinterpret_cast<void*>(at), step_bytes, resident.data()) != 0) return false;
    at += step_bytes;
    left_bytes -= step_bytes;
  }
  return true;
}

// The word of a byte is on its page, and is the same afterwards.
bool is_writable(const void* address, std::size_t length_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  for (const std::uintptr_t byte : {first, first + length_bytes - 1}) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the word of a byte is found by its number
    auto* const word = reinterpret_cast<std::uint32_t*>(byte & ~std::uintptr_t{3});
    if (kernel::futex_add_nothing(word) < 0 && errno == EFAULT) return false;
  }
  return true;
}

void free_all(Library& library) {
  for (const int handle : library.regions.handles()) {
    const auto region = library.regions.find(handle);
    if (!region) continue;
    if (!region->retire()) {  // an operation of what could not be closed
      library.keep_lost(region);
      library.regions.remove(handle);
      continue;
    }
    if (region->allocated()) {
      free_allocation(library, handle, *region);
    } else {
      forget_region(library, handle, *region);
    }
  }
}

}  // namespace exs

using namespace exs;

exs_mhandle_t exs_mregister(void* address, size_t length, int flags) {
  return api_call(EXS_MHANDLE_INVALID, [&](Library& library) -> Result<exs_mhandle_t> {
    const auto access = access_of(flags);
    if (!access) return failure(access.error());
    if (length == 0) return failure(refuse(EINVAL, "the length is 0: a region has at least one byte"));
    if (!is_mapped(address, length)) return failure(not_mapped(address, length));
    const bool writable = is_writable(address, length);
    return add_region(library, {static_cast<std::byte*>(address), length}, *access, writable, -1);
  });
}

int exs_mderegister(exs_mhandle_t region_handle, int flags) {
  return api_call([&](Library& library) -> Result<int> {
    const auto region = library.regions.find(region_handle);
    if (!region) return failure(no_such_region(region_handle));
    if ((flags & ~EXS_MRF_WAIT) != 0) return failure(no_such_flags(flags));
    if (region->allocated())
      return failure(refuse(EBUSY, "the region is of exs_alloc: free it with exs_free"));
    if ((flags & EXS_MRF_WAIT) != 0) {
      if (!region->retire_when_idle()) return failure(no_such_region(region_handle));
    } else if (!region->retire()) {
      return failure(region_in_use(region_handle));
    }
    forget_region(library, region_handle, *region);
    return 0;
  });
}

void* exs_alloc(size_t length, exs_mhandle_t* region_handle) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return api_call<void*>(nullptr, [&](Library& library) -> Result<void*> {
    if (length == 0 || region_handle == nullptr)
      return failure(
          refuse(EINVAL, "a length of at least 1 and a place for the handle of the region are needed"));
    const auto made = map_shared_memory(length);
    if (!made) return failure(made.error());
    const std::span<std::byte> range = made->range;
    Undo unmap([&] { kernel::munmap(range.data(), range.size()); });
    library.remember_allocation(range.data(), EXS_MHANDLE_INVALID);
    Undo forget([&] { library.forget_allocation(range.data()); });
    const auto handle = add_region(library, range, Access::kRemoteReadWrite, true, made->descriptor.get());
    if (!handle) return failure(handle.error());
    library.remember_allocation(range.data(), *handle);  // again, so without memory
    forget.cancel();
    unmap.cancel();
    *region_handle = *handle;
    return range.data();
  });
}

int exs_free(void* address) {
  return api_call([&](Library& library) -> Result<int> {
    return address == nullptr ? Result<int>(0) : api_result(release_allocation(library, address));
  });
}
