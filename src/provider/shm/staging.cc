// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/staging.h"

#include <cerrno>

namespace exs::shm {

std::span<std::byte> StagingOut::room() {
  const std::uint64_t pieces = pieces_up_to(filled_);
  if (filled_ - taken_ >= pieces) {
    const std::uint64_t taken = words_.pieces_taken.load(std::memory_order_seq_cst);
    if (taken - taken_ > filled_ - taken_) {
      status_ = Status(EPROTO);
      return {};
    }
    taken_ = taken;
    if (filled_ - taken_ >= pieces) return {};
  }
  return staging(segment_, filled_);
}

}  // namespace exs::shm
