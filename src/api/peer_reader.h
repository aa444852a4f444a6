// Reads of the peer's persistent send, one after the other, within the time limit of a call. Each is posted
// when the one before is complete, so the order in which a provider serves reads does not matter.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/held_signals.h"
#include "exs/cpp/peer_snapshot.hpp"
#include "src/api/waited_transfer.h"

namespace exs {

// Thread: the one that calls.
class PeerReader {
 public:
  // `timeout_ns`: negative for no limit. EBADF; ENOTCONN; EOPNOTSUPP the socket carries a stream.
  static Result<PeerReader> on(Library& library, int socket, std::int64_t timeout_ns);

  // Does the reads that `reading` wants, until it is done. Besides the errors of a receive and its event: ENOMSG the
  // peer has posted no persistent send within the time limit. After the limit only a first read takes place; a
  // later one ends with EINPROGRESS if the owner has changed what was read before, else with ETIMEDOUT. After a
  // read in which a signal was caught the next one ends with EINTR.
  template <typename Reading>
  Status take(const Piece& into, Reading& reading) {
    for (;;) {
      const cpp::detail::PeerRead next = reading.next();
      const Status status =
          next.words.empty() ? read(into, next.offset) : read_words(next.words, next.offset);
      if (!status.ok()) return status;
      const cpp::detail::Progress progress = reading.advance();
      if (progress == cpp::detail::Progress::kRetry) {
        if (const Status let_in = count_retry(); !let_in.ok()) return let_in;
      }
      if (progress == cpp::detail::Progress::kDone) return count_snapshot();
      if (cpp::detail::errno_of(progress) != 0) return failed(progress, next.offset);
    }
  }

 private:
  Status read(const Piece& into, std::uint64_t offset);
  Status read_words(std::span<std::uint64_t> words, std::uint64_t offset);
  // EINTR: a signal was caught since the last retry; from the first one on none is missed, however short the reads are.
  Status count_retry();
  Status count_snapshot();
  static Status failed(cpp::detail::Progress progress, std::uint64_t offset);
  PeerReader(Library& library, WaitedTransfers waited, std::uint64_t deadline_ns);
  [[nodiscard]] Status check_time() const;
  [[nodiscard]] proto::Operation operation_at(std::uint64_t offset) const;
  Status wait(std::size_t length_bytes);

  Library& library_;
  WaitedTransfers waited_;
  const TransferRequest request_;
  const std::uint64_t deadline_ns_;
  bool has_read_ = false;
  bool met_update_ = false;
  std::unique_ptr<HeldSignals> signals_;  // since the first retry
};

}  // namespace exs
