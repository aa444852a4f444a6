// Transfers for a call that waits for them, one after the other.
#pragma once

#include "src/api/control.h"
#include "src/api/transfer.h"

namespace exs {

class WaitedTransfers {
 public:
  // EBADF; ENOTCONN.
  static Result<WaitedTransfers> on(Library& library, int socket);

  // Where and how to post: the caller adds flags and what the operation is for.
  [[nodiscard]] const TransferTarget& target() const noexcept { return target_; }
  [[nodiscard]] TransferRequest request(proto::Direction direction, int flags) const;

  // Waits for the event of what was just posted, and returns how many bytes moved. When a signal is caught
  // (EINTR) or at `deadline_ns` (ETIMEDOUT), the operation is taken back; one that the peer has begun with is
  // waited for, and its bytes count.
  Result<std::size_t> outcome(const TransferRequest& request, std::uint64_t deadline_ns);

 private:
  WaitedTransfers(TransferTarget target, PrivateQueue queue)
      : target_(std::move(target)), queue_(std::move(queue)) {}

  TransferTarget target_;
  PrivateQueue queue_;
};

}  // namespace exs
