// Registered memory for frames that are kept until they are accepted: slots of one frame each. Thread: holder of the node's lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "exs/exs.h"
#include "service/flow/outgoing.h"
#include "service/wire/frames.h"

namespace exs::svc {

// The content of a frame, and the state that its events need.
struct Kept {
  std::uint16_t length_bytes = 0;  // of the frame
  std::uint8_t kind = 0;           // flags of DATA
  bool is_used = false;            // somebody has the slot
  bool is_moving = false;          // its long items are moving on the current link
  std::optional<Fate> fate;        // outcome to report when they stop moving
  int error = 0;                   // why the other end refused it
  std::uint64_t call = 0;
  void* handle = nullptr;
  std::vector<exs_iovec_t> longs;
  std::vector<std::uint32_t> places;  // where the lane may write the long items; empty: use the bulk
};

class FrameMemory {
 public:
  using Slot = Outgoing::Slot;

  FrameMemory() = default;
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;
  ~FrameMemory() { clear(); }
  // No frame of this memory may be under way.
  void clear() {
    for (const Chunk& chunk : std::exchange(chunks_, {})) exs_free(chunk.start);
  }

  // Returns nothing if memory ran out.
  std::optional<Slot> take();
  void give_back(Slot slot) {
    EXS_CHECK(kept_[slot].is_used && !kept_[slot].is_moving);
    kept_[slot] = Kept();
    free_.push_back(slot);
  }
  [[nodiscard]] std::span<std::uint8_t> room(Slot slot) const {
    return {chunks_[slot / kSlotsOfChunk].start + slot % kSlotsOfChunk * kFrameMax, kFrameMax};
  }
  [[nodiscard]] exs_mhandle_t region(Slot slot) const { return chunks_[slot / kSlotsOfChunk].region; }
  Kept& kept(Slot slot) { return kept_[slot]; }

 private:
  static constexpr std::size_t kSlotsOfChunk = 64;
  struct Chunk {
    std::uint8_t* start = nullptr;
    exs_mhandle_t region = EXS_MHANDLE_INVALID;
  };
  std::vector<Chunk> chunks_;
  std::vector<Slot> free_;
  std::deque<Kept> kept_;
};

inline std::optional<FrameMemory::Slot> FrameMemory::take() {
  if (free_.empty()) {
    const std::size_t before = kept_.size();
    chunks_.reserve(chunks_.size() + 1);
    free_.reserve(before + kSlotsOfChunk);
    kept_.resize(before + kSlotsOfChunk);
    Chunk chunk;
    chunk.start = static_cast<std::uint8_t*>(exs_alloc(kSlotsOfChunk * kFrameMax, &chunk.region));
    if (chunk.start == nullptr) {
      kept_.resize(before);
      return {};
    }
    chunks_.push_back(chunk);
    for (std::size_t i = kSlotsOfChunk; i-- > 0;) free_.push_back(static_cast<Slot>(before + i));
  }
  const Slot slot = free_.back();
  free_.pop_back();
  EXS_CHECK(!kept_[slot].is_used);
  kept_[slot].is_used = true;
  return slot;
}

}  // namespace exs::svc
