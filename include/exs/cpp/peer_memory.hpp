// Snapshots of the peer's memory that coroutines await: one receive after the other, none of which blocks.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_PEER_MEMORY_HPP
#define EXS_CPP_PEER_MEMORY_HPP

#include <exs/cpp/awaiting.hpp>
#include <exs/cpp/peer_snapshot.hpp>

namespace exs::cpp::detail {

// The reads of one snapshot, within its time limit.
class PeerReads {
 public:
  PeerReads(Loop* loop, int socket, std::optional<Clock::duration> timeout) noexcept
      : loop_(loop), socket_(socket) {
    if (timeout) due_ = Clock::now() + *timeout;
  }

  // Not at all after the limit: EINPROGRESS the owner has changed what was read before, else ETIMEDOUT. A first read
  // takes place in any case; one that then finds no persistent send ends with ENOMSG.
  Task<Outcome> read(std::span<std::byte> into, exs_mhandle_t region, std::uint64_t offset) {
    if (has_read_ && due_ && Clock::now() >= *due_)
      co_return Outcome{error_of(met_update_ ? EINPROGRESS : ETIMEDOUT)};
    Awaiting receive(
        loop_,
        [=, this](exs_qhandle_t queue, void* handle) {
          return exs_recv_offset(socket_, into.data(), into.size(), 0, queue, handle, region, offset);
        },
        ReadResult());
    Result read;
    if (due_) {
      read = co_await Limited(*due_, std::move(receive));
    } else {
      read = co_await receive;
    }
    has_read_ = has_read_ || read;
    if (read.error == std::errc::timed_out) co_return Outcome{error_of(ENOMSG)};
    if (read && read.bytes != into.size()) co_return Outcome{error_of(ECANCELED)};
    co_return read;
  }
  void count_retry() noexcept { met_update_ = true; }

 private:
  Loop* const loop_;
  const int socket_;
  std::optional<Clock::time_point> due_;
  bool has_read_ = false;
  bool met_update_ = false;
};

template <typename Reading>
Task<Outcome> take(PeerReads& reads, std::span<std::byte> into, exs_mhandle_t region, Reading& reading) {
  for (;;) {
    const PeerRead next = reading.next();
    const bool is_data = next.words.empty();
    const Outcome read = co_await reads.read(is_data ? into : std::as_writable_bytes(next.words),
                                             is_data ? region : EXS_MHANDLE_UNREGISTERED, next.offset);
    if (!read) co_return read;
    const Progress progress = reading.advance();
    if (progress == Progress::kRetry) reads.count_retry();
    if (progress == Progress::kDone || errno_of(progress) != 0)
      co_return Outcome{error_of(errno_of(progress))};
  }
}

// A snapshot has all of its bytes, or none.
inline Result result_of(const Outcome& taken, std::span<const std::byte> into) noexcept {
  return {taken, taken ? into.size() : 0, 0};
}

inline Task<Result> take_window(PeerReads reads, std::span<std::byte> into, exs_mhandle_t region,
                                std::uint64_t offset, std::uint64_t window_offset) {
  if (into.empty() || window_offset % WindowReading::kAlignment != 0) co_return Result{{error_of(EINVAL)}};
  WindowReading reading(offset, window_offset);
  co_return result_of(co_await take(reads, into, region, reading), into);
}

inline Task<Result> take_snapshot(PeerReads reads, std::span<std::byte> into, exs_mhandle_t region,
                                  std::uint64_t offset, std::uint64_t slots_offset,
                                  exs_snapshot_t* snapshot) {
  if (into.empty() || slots_offset % SlotReading::kAlignment != 0) co_return Result{{error_of(EINVAL)}};
  SlotReading reading(into.size(), offset, slots_offset, snapshot == nullptr ? 0 : snapshot->span);
  const Outcome taken = co_await take(reads, into, region, reading);
  if (taken && snapshot != nullptr) *snapshot = reading.result();
  co_return result_of(taken, into);
}

}  // namespace exs::cpp::detail

#endif  // EXS_CPP_PEER_MEMORY_HPP
