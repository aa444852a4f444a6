// The states of a connection that its processes share, with the transitions that exist.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"

namespace exs::sockets {

enum class Stage : std::uint32_t {
  kFree,
  kNoted,    // plain TCP; calls are counted
  kCalling,  // the caller's card waits for the peer
  kOffered,  // the called end waits for the caller, and already receives as in the lane
  kLane,     // both ends have the segment
  kPlain,    // TCP for good; also while a free slot is being taken
};

// Where receives take their bytes from.
enum class ReceivePath : std::uint32_t {
  kTcp,         // TCP; the ring may follow
  kRing,        // the lane, with the peer's ring
  kTakesAlong,  // unread bytes are being copied: a new lock holder that finds it knows that a relative died
  kLeaving,     // the lane, until the peer has seen that we left its ring
  kCarried,     // a copy of the unread bytes (carry.h), then TCP
  kLeft,        // TCP for good
  kDrained,     // TCP for good; the copy still has memory
};

// The end of the connection, as far as receives know it.
enum class SlotEnd : std::uint32_t {
  kOpen,
  kSeen,        // the peer sends no more, or is gone
  kBeingReset,  // the lane is gone, but the kernel's part of the reset is missing (reset.h)
  kReset,
};

// --- the transitions: for each state, those that may follow it ---
template <typename State, typename... States>
constexpr std::uint32_t any_of(State first, States... others) noexcept {
  return (1U << static_cast<unsigned>(first)) | (0U | ... | (1U << static_cast<unsigned>(others)));
}
// A last close frees a slot in any stage.
inline constexpr std::uint32_t kAfterStage[] = {
    any_of(Stage::kPlain),
    any_of(Stage::kFree, Stage::kCalling, Stage::kOffered, Stage::kPlain),
    any_of(Stage::kFree, Stage::kLane, Stage::kPlain),
    any_of(Stage::kFree, Stage::kLane, Stage::kPlain),
    any_of(Stage::kFree, Stage::kPlain),
    any_of(Stage::kFree, Stage::kNoted, Stage::kPlain),
};
// A reset ends the lane on any path.
inline constexpr std::uint32_t kAfterReceivePath[] = {
    any_of(ReceivePath::kRing),
    any_of(ReceivePath::kTcp, ReceivePath::kTakesAlong, ReceivePath::kLeft),
    any_of(ReceivePath::kLeaving, ReceivePath::kCarried, ReceivePath::kLeft),
    any_of(ReceivePath::kRing, ReceivePath::kLeft),
    any_of(ReceivePath::kDrained),
    any_of(ReceivePath::kDrained),
    any_of(ReceivePath::kLeft),
};
inline constexpr std::uint32_t kAfterEnd[] = {
    any_of(SlotEnd::kSeen, SlotEnd::kBeingReset),
    any_of(SlotEnd::kBeingReset),
    any_of(SlotEnd::kBeingReset, SlotEnd::kReset),
    any_of(SlotEnd::kBeingReset, SlotEnd::kReset),
};

constexpr bool may_follow(Stage before, Stage next) noexcept {
  return (kAfterStage[static_cast<unsigned>(before)] & any_of(next)) != 0;
}
constexpr bool may_follow(ReceivePath before, ReceivePath next) noexcept {
  return (kAfterReceivePath[static_cast<unsigned>(before)] & any_of(next)) != 0;
}
constexpr bool may_follow(SlotEnd before, SlotEnd next) noexcept {
  return (kAfterEnd[static_cast<unsigned>(before)] & any_of(next)) != 0;
}

// The only thread that changes the state enters another one. Debug builds check that it may follow.
template <typename State>
void enter_state(std::atomic<State>& state, State next) noexcept {
  EXS_DEBUG_CHECK(may_follow(state.load(), next));
  state.store(next);
}
// Threads compete for the change. False: the state is not `before`, and nothing has changed.
template <typename State>
bool change_state(std::atomic<State>& state, State before, State next) noexcept {
  EXS_DEBUG_CHECK(may_follow(before, next));
  return state.compare_exchange_strong(before, next);
}

// Receives go through ReceiverState.
constexpr bool is_in_lane(ReceivePath path) noexcept {
  return path >= ReceivePath::kRing && path <= ReceivePath::kCarried;
}
// Receives stay in the lane until what was unread is received, or has come by TCP.
constexpr bool is_leaving(ReceivePath path) noexcept {
  return path >= ReceivePath::kTakesAlong && path <= ReceivePath::kCarried;
}
// The segment of receives is the copy.
constexpr bool is_carried(ReceivePath path) noexcept {
  return path == ReceivePath::kCarried || path == ReceivePath::kDrained;
}
// The path behind the lane.
constexpr ReceivePath after_lane(ReceivePath path) noexcept {
  return is_carried(path) ? ReceivePath::kDrained : ReceivePath::kLeft;
}

}  // namespace exs::sockets
