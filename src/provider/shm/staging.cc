#include "src/provider/shm/staging.h"

#include <cerrno>

namespace exs::shm {

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

}  // namespace exs::shm
