// The transfers of a synchronous call, one after the other.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/api/control.h"
#include "src/api/transfer.h"

namespace exs {

class WaitedTransfers {
 public:
  // EBADF; ENOTCONN.
  static Result<WaitedTransfers> on(Library& library, int socket);

  // The target and the request for the next transfer.
  [[nodiscard]] const TransferTarget& target() const noexcept { return target_; }
  [[nodiscard]] TransferRequest request(proto::Direction direction, int flags) const;

  // Waits for the event of the last transfer, and returns how many bytes moved. Cancels the transfer if a
  // signal is caught (EINTR) or at `deadline_ns` (`late`). A transfer that the peer has begun with is
  // waited for, and its bytes count.
  Result<std::size_t> outcome(const TransferRequest& request, std::uint64_t deadline_ns, Status late);
  // A signal was caught while it waited for one of the transfers, which was too late to cancel that one.
  [[nodiscard]] bool was_interrupted() const noexcept { return interrupted_; }

 private:
  WaitedTransfers(TransferTarget target, PrivateQueue queue)
      : target_(std::move(target)), queue_(std::move(queue)) {}

  TransferTarget target_;
  PrivateQueue queue_;
  bool interrupted_ = false;
};

}  // namespace exs
