// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/peer_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/guarded_copy.h"
#include "base/kernel.h"
#include "src/log/log.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/region_address.h"

namespace exs::shm {
namespace {

// Process numbers are given again, but not so soon.
constexpr std::uint64_t kProcessCheckNs = 100'000'000;
constexpr std::uint64_t kCloseWaitNs = 100'000'000;
constexpr int kSpins = 1000;

// Tests one byte of each page as the kernel sees it. After a failed copy this shows whose memory is missing.
template <typename IsThere>
bool is_there(std::span<const std::byte> memory, IsThere&& is_byte_there) {
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  for (std::uintptr_t at = begin; at < begin + memory.size(); at = (at / page_bytes + 1) * page_bytes) {
    if (!is_byte_there(at)) return false;
  }
  return true;
}

bool can_be_read(std::span<const std::byte> memory) {
  return is_there(memory, [](std::uintptr_t at) {
    std::byte byte;
    const iovec here{&byte, 1};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): pages are found by number
    const iovec there{reinterpret_cast<void*>(at), 1};
    return kernel::process_vm_readv(kernel::getpid(), &here, 1, &there, 1, 0) == 1;
  });
}

bool can_be_written(std::span<const std::byte> memory) {
  return is_there(memory, [](std::uintptr_t at) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the word of a byte is found by its number
    auto* const word = reinterpret_cast<std::uint32_t*>(at & ~std::uintptr_t{3});
    return kernel::futex_add_nothing(word) >= 0 || errno != EFAULT;
  });
}

}  // namespace

class PeerMemory::Access {
 public:
  Access(PeerMemory& memory, std::uint32_t link) : memory_(memory) {
    // Both in the one order of all such accesses, as in close(): one of the two ends sees the other.
    memory_.ours_.accessing.store(link, std::memory_order_seq_cst);
    granted_ = memory_.theirs_.closings.load(std::memory_order_seq_cst) == memory_.closings_known_;
  }
  ~Access() { memory_.ours_.accessing.store(0, std::memory_order_release); }
  [[nodiscard]] bool granted() const noexcept { return granted_; }

 private:
  PeerMemory& memory_;
  bool granted_;
};

PeerMemory::PeerMemory(Channel& channel, std::span<std::byte> segment, std::span<std::byte> peer_segment)
    : channel_(channel),
      ours_(transfer_words_of(segment)),
      theirs_(transfer_words_of(peer_segment)),
      reads_memory_(channel.reads_memory()) {}

PeerMemory::Method PeerMemory::method_for(std::uint64_t address, std::uint64_t length_bytes) {
  if (!is_region_address(address)) return reads_memory_ ? Method::kProcess : Method::kNone;
  const PeerRegions::View* region = channel_.region(region_of(address));
  if (region == nullptr) return Method::kNone;
  const std::uint64_t offset = offset_of(address);
  // Beyond its end: the owner says no in its own words.
  const bool inside = offset <= region->length_bytes && length_bytes <= region->length_bytes - offset;
  return inside ? Method::kMapped : Method::kNone;
}

PeerMemory::Moved PeerMemory::read(std::uint32_t link, std::span<std::byte> into, std::uint64_t address) {
  return move(link, into.data(), into.size(), address, false);
}

PeerMemory::Moved PeerMemory::write(std::uint32_t link, std::span<const std::byte> from,
                                    std::uint64_t address) {
  return move(link, const_cast<std::byte*>(from.data()), from.size(), address, true);
}

PeerMemory::Moved PeerMemory::move(std::uint32_t link, std::byte* ours, std::size_t length_bytes,
                                   std::uint64_t address, bool to_peer) {
  length_bytes = std::min(length_bytes, kAccessBytes);
  const Access access(*this, link);
  if (!access.granted()) return {0, Status(EAGAIN)};
  return is_region_address(address) ? move_mapped(ours, length_bytes, address, to_peer)
                                    : move_by_process(ours, length_bytes, address, to_peer);
}

PeerMemory::Moved PeerMemory::move_mapped(std::byte* ours, std::size_t length_bytes, std::uint64_t address,
                                          bool to_peer) {
  const PeerRegions::View* region = channel_.region(region_of(address));
  if (region == nullptr) return {0, Status(EOPNOTSUPP)};
  const std::uint64_t offset = offset_of(address);
  if (offset > region->length_bytes || length_bytes > region->length_bytes - offset)
    return {0, Status(EPROTO)};
  if (is_gone({ours, length_bytes})) return {0, Status(EFAULT)};
  std::byte* const theirs = region->start + offset;
  if (!guarded_copy(to_peer ? theirs : ours, to_peer ? ours : theirs, length_bytes))
    return {0, Status(EFAULT)};
  return {length_bytes, {}};
}

PeerMemory::Moved PeerMemory::move_by_process(std::byte* ours, std::size_t length_bytes,
                                              std::uint64_t address, bool to_peer) {
  if (!reads_memory_) return {0, Status(EOPNOTSUPP)};
  if (!process_lives()) return {0, Status(ECONNRESET)};
  const iovec here{ours, length_bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): of another process
  const iovec there{reinterpret_cast<void*>(address), length_bytes};
  const auto call = to_peer ? ::process_vm_writev : ::process_vm_readv;
  const ssize_t moved = call(channel_.peer_pid(), &here, 1, &there, 1, 0);
  if (moved > 0) return {static_cast<std::size_t>(moved), {}};
  const int error = moved == 0 ? EFAULT : errno;
  if (error == ESRCH) return {0, Status(ECONNRESET)};
  const std::span<const std::byte> memory(ours, length_bytes);
  if (error == EFAULT && !(to_peer ? can_be_read(memory) : can_be_written(memory)))
    return {0, Status(EFAULT)};
  if (error == EFAULT || error == EINVAL) return {0, Status(EPROTO)};
  log(LogLevel::kWarn,
      "shm: the memory of process {} can no longer be reached: {}; its bytes go through the rings",
      channel_.peer_pid(), std::strerror(error));
  reads_memory_ = false;
  return {0, Status(EOPNOTSUPP)};
}

bool PeerMemory::process_lives() {
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
  if (now_ns - checked_ns_ < kProcessCheckNs) return true;
  if (!channel_.peer_process_lives()) return false;
  checked_ns_ = now_ns;
  return true;
}

Status PeerMemory::close(std::uint32_t our_link) {
  ours_.closings.fetch_add(1, std::memory_order_seq_cst);
  const auto is_accessed = [&] { return theirs_.accessing.load(std::memory_order_seq_cst) == our_link; };
  for (int i = 0; i < kSpins; ++i) {
    if (!is_accessed()) return {};
    spin_hint();
  }
  const std::uint64_t deadline_ns = monotonic_ns() + kCloseWaitNs;
  while (is_accessed()) {
    // The peer was killed in the middle of an access. The word stays as it was, and no process touches the
    // memory any more.
    if (channel_.peer_is_gone()) return Status(ECONNRESET);
    if (monotonic_ns() > deadline_ns) return Status(ETIMEDOUT);
    kernel::sched_yield();
  }
  return {};
}

}  // namespace exs::shm
