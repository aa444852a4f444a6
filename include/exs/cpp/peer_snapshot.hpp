// How a snapshot of the peer's memory is taken: which read comes next, and what it means. The reads themselves are
// done by others: the calls of exs.h, which block, and the coroutines of exs.hpp, which do not.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_PEER_SNAPSHOT_HPP
#define EXS_CPP_PEER_SNAPSHOT_HPP

#include <exs/exs.h>
#include <exs/cpp/slot_choice.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace exs::cpp::detail {

struct PeerRead {
  std::span<std::uint64_t> words;  // what to read into; empty: the data of the snapshot
  std::uint64_t offset = 0;        // in the peer's memory
};

// What a read means that is complete.
enum class Progress {
  kGoOn,
  kRetry,  // go on; what was read is of no use: the owner has changed it meanwhile, or was about to
  kDone,
  kNoSlots,       // EINVAL
  kOutside,       // ERANGE: the range of the snapshot is not inside a slot
  kNothingThere,  // ENOMSG: no update is complete
};
constexpr int errno_of(Progress progress) noexcept {
  switch (progress) {
    case Progress::kNoSlots: return EINVAL;
    case Progress::kOutside: return ERANGE;
    case Progress::kNothingThere: return ENOMSG;
    default: return 0;
  }
}

// exs_recv_window: reads the counter, the data, and the counter again.
class WindowReading {
 public:
  WindowReading(std::uint64_t offset, std::uint64_t window_offset) noexcept
      : offset_(offset), window_offset_(window_offset) {}
  static constexpr std::size_t kAlignment = alignof(exs_window_t);

  // Valid until the next advance().
  [[nodiscard]] PeerRead next() noexcept {
    if (stage_ == Stage::kData) return {{}, offset_};
    return {{&counter_, 1}, window_offset_};
  }
  Progress advance() noexcept {
    switch (stage_) {
      case Stage::kData: stage_ = Stage::kAfter; return Progress::kGoOn;
      case Stage::kAfter:
        if (counter_ == before_) return Progress::kDone;
        return begin(Progress::kRetry);
      default: return begin(Progress::kGoOn);
    }
  }

 private:
  enum class Stage { kBefore, kData, kAfter };

  // An odd counter: an update is under way.
  Progress begin(Progress progress) noexcept {
    before_ = counter_;
    stage_ = counter_ % 2 == 0 ? Stage::kData : Stage::kBefore;
    return stage_ == Stage::kData ? progress : Progress::kRetry;
  }

  const std::uint64_t offset_;
  const std::uint64_t window_offset_;
  Stage stage_ = Stage::kBefore;
  std::uint64_t counter_ = 0;
  std::uint64_t before_ = 0;
};

// exs_recv_snapshot: reads the description of the slots, the data of one, and the counter of updates.
class SlotReading {
 public:
  SlotReading(std::size_t length, std::uint64_t offset, std::uint64_t slots_offset,
              std::uint64_t span) noexcept
      : length_(length), offset_(offset), slots_offset_(slots_offset), wished_(outlasting(span)) {}
  static constexpr std::size_t kAlignment = alignof(exs_slots_t);

  // Valid until the next advance().
  [[nodiscard]] PeerRead next() noexcept {
    switch (stage_) {
      case Stage::kData: return {{}, offset_of(choice_.update) + offset_};
      case Stage::kAfter: return {{words_, 1}, slots_offset_};
      default: return {words_, slots_offset_};
    }
  }
  Progress advance() noexcept {
    switch (stage_) {
      case Stage::kData: stage_ = Stage::kAfter; return Progress::kGoOn;
      case Stage::kAfter: return check();
      default: return begin();
    }
  }
  [[nodiscard]] const exs_snapshot_t& result() const noexcept { return result_; }

 private:
  enum class Stage { kDescription, kData, kAfter };
  static constexpr std::size_t kBlockBytes = sizeof(exs_slots_t);
  // A reader wants a slot to outlast this many times the updates of the read before. One that is overwritten
  // costs a read, one that is a little older costs nothing.
  static constexpr std::uint64_t kMargin = 2;
  static constexpr std::uint64_t kUpdatesMax = std::uint64_t{1} << EXS_SLOTS_MAX;
  static_assert(offsetof(exs_slots_t, slot_count) == 8 && offsetof(exs_slots_t, slot_bytes) == 16);

  static std::uint64_t outlasting(std::uint64_t span) noexcept {
    return kMargin * std::min(span, kUpdatesMax);
  }

  [[nodiscard]] std::uint64_t sequence() const noexcept { return words_[0]; }
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return words_[1]; }
  [[nodiscard]] std::uint64_t slot_bytes() const noexcept { return words_[2]; }
  [[nodiscard]] std::uint64_t blocks() const noexcept {
    return (slot_bytes() + kBlockBytes - 1) / kBlockBytes;
  }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t update) const noexcept {
    const auto index = std::min(static_cast<std::uint64_t>(std::countr_zero(update)), slot_count() - 1);
    return slots_offset_ + (1 + index * blocks()) * kBlockBytes;
  }

  Progress begin() noexcept {
    // No more than fit into an address space.
    constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max() / (EXS_SLOTS_MAX + 1);
    if (slot_count() < 2 || slot_count() > EXS_SLOTS_MAX || slot_bytes() > kBytesMax)
      return Progress::kNoSlots;
    if (offset_ > slot_bytes() || length_ > slot_bytes() - offset_) return Progress::kOutside;
    return choose(Progress::kGoOn);
  }
  Progress choose(Progress progress) noexcept {
    const auto choice = choose_slot(sequence(), slot_count(), wished_);
    if (!choice) return Progress::kNothingThere;
    choice_ = *choice;
    begun_ = begun_updates(sequence());
    stage_ = Stage::kData;
    return progress;
  }
  Progress check() noexcept {
    const std::uint64_t begun_now = begun_updates(sequence());
    result_.span = begun_now - begun_;
    ++result_.tries;
    if (begun_now >= begun_ && begun_now < choice_.overwritten_by) {
      result_.update = choice_.update;
      result_.newest = sequence() / 2;
      return Progress::kDone;
    }
    wished_ = std::max(outlasting(wished_), outlasting(result_.span));
    return choose(Progress::kRetry);
  }

  const std::size_t length_;
  const std::uint64_t offset_;
  const std::uint64_t slots_offset_;
  Stage stage_ = Stage::kDescription;
  std::uint64_t wished_;         // updates that the slot should outlast
  std::uint64_t words_[3] = {};  // the first members of exs_slots_t
  SlotChoice choice_;
  std::uint64_t begun_ = 0;  // updates, when the slot was chosen
  exs_snapshot_t result_{};
};

}  // namespace exs::cpp::detail

#endif  // EXS_CPP_PEER_SNAPSHOT_HPP
