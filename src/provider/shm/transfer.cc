#include "src/provider/shm/transfer.h"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/kernel.h"
#include "src/base/log.h"
#include "src/provider/shm/channel.h"

namespace exs::shm {
namespace {

// Process numbers are given again, but not so soon.
constexpr std::uint64_t kProcessLookNs = 100'000'000;
constexpr std::uint64_t kCloseWaitNs = 100'000'000;
constexpr int kSpins = 1000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

TransferWords& transfer_words_of(std::span<std::byte> segment) {
  return *reinterpret_cast<TransferWords*>(segment.data() + kTransferWordsOffset);
}

// ---------------------------------------------------------------- pieces

std::span<std::byte> StagingOut::room() {
  if (filled_ - taken_ >= kStagingPieces) {
    const std::uint64_t taken = words_.pieces_taken.load(std::memory_order_seq_cst);
    if (taken - taken_ > filled_ - taken_) {
      status_ = Status(EPROTO);
      return {};
    }
    taken_ = taken;
    if (filled_ - taken_ >= kStagingPieces) return {};
  }
  return staging(segment_, filled_);
}

bool Claims::open(Ticket& ticket) {
  static_assert(TransferWords::kClaims == 64);
  if (in_use_ == UINT64_MAX) return false;
  const auto slot = static_cast<std::uint32_t>(std::countr_one(in_use_));
  in_use_ |= std::uint64_t{1} << slot;
  constexpr std::uint32_t kDraws = 1U << 30;
  draws_[slot] = (draws_[slot] + 1) % kDraws;
  ticket = {slot, draws_[slot]};
  words_.claims[slot].store(word(ticket.draw, kAsked), std::memory_order_release);
  return true;
}

void Claims::close(Ticket ticket) {
  words_.claims[ticket.slot].store(0, std::memory_order_relaxed);
  in_use_ &= ~(std::uint64_t{1} << ticket.slot);
}

bool Claims::has_begun(Ticket ticket) const {
  return words_.claims[ticket.slot].load(std::memory_order_relaxed) != word(ticket.draw, kAsked);
}

bool Claims::take_back(Ticket ticket) {
  std::uint32_t expected = word(ticket.draw, kAsked);
  // Acquire and release order nothing more than the word itself here: no byte has moved yet.
  if (!words_.claims[ticket.slot].compare_exchange_strong(expected, 0)) return false;
  close(ticket);
  return true;
}

bool Claims::begin(std::span<std::byte> peer_segment, Ticket ticket) {
  std::uint32_t expected = word(ticket.draw, kAsked);
  return transfer_words_of(peer_segment)
      .claims[ticket.slot]
      .compare_exchange_strong(expected, word(ticket.draw, kBegun));
}

// ---------------------------------------------------------------- straight to the peer's memory

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

PeerMemory::Way PeerMemory::way(std::uint64_t address, std::uint64_t length_bytes) {
  if ((address & kRegionBit) == 0) return reads_memory_ ? Way::kProcess : Way::kNone;
  const PeerRegion* region = channel_.region(region_of(address));
  if (region == nullptr) return Way::kNone;
  const std::uint64_t offset = offset_of(address);
  // Beyond its end: the owner says no in its own words.
  const bool inside = offset <= region->length_bytes && length_bytes <= region->length_bytes - offset;
  return inside ? Way::kMapped : Way::kNone;
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
  return (address & kRegionBit) != 0 ? move_mapped(ours, length_bytes, address, to_peer)
                                     : move_by_process(ours, length_bytes, address, to_peer);
}

PeerMemory::Moved PeerMemory::move_mapped(std::byte* ours, std::size_t length_bytes, std::uint64_t address,
                                          bool to_peer) {
  const PeerRegion* region = channel_.region(region_of(address));
  if (region == nullptr) return {0, Status(EOPNOTSUPP)};
  const std::uint64_t offset = offset_of(address);
  if (offset > region->length_bytes || length_bytes > region->length_bytes - offset)
    return {0, Status(EPROTO)};
  std::byte* const theirs = region->start + offset;
  std::memcpy(to_peer ? theirs : ours, to_peer ? ours : theirs, length_bytes);
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
  if (error == EFAULT || error == EINVAL) return {0, Status(EPROTO)};
  log(LogLevel::kWarn,
      "shm: the memory of process %d can no longer be reached: %s; its bytes go through the rings",
      static_cast<int>(channel_.peer_pid()), std::strerror(error));
  reads_memory_ = false;
  return {0, Status(EOPNOTSUPP)};
}

bool PeerMemory::process_lives() {
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
  if (now_ns - looked_ns_ < kProcessLookNs) return true;
  if (!channel_.peer_process_lives()) return false;
  looked_ns_ = now_ns;
  return true;
}

Status PeerMemory::close(std::uint32_t our_link) {
  ours_.closings.fetch_add(1, std::memory_order_seq_cst);
  const auto is_accessed = [&] { return theirs_.accessing.load(std::memory_order_seq_cst) == our_link; };
  for (int i = 0; i < kSpins; ++i) {
    if (!is_accessed()) return {};
    pause();
  }
  const std::uint64_t deadline_ns = monotonic_ns() + kCloseWaitNs;
  while (is_accessed()) {
    // Killed in the middle of it: the word stays as it was, and nobody touches anything any more.
    if (channel_.peer_is_gone()) return Status(ECONNRESET);
    if (monotonic_ns() > deadline_ns) return Status(ETIMEDOUT);
    kernel::sched_yield();
  }
  return {};
}

}  // namespace exs::shm
