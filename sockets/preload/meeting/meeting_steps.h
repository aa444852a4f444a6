// Steps of the meeting that serve peers on this host and on others. Thread: the one that meets
// (SlotMeeting::is_busy).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "sockets/between/link.h"
#include "sockets/preload/kernel/point.h"
#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/slot.h"
#include "sockets/settings/settings.h"

namespace exs::sockets {

// Nanoseconds, accurate to a few milliseconds.
std::uint64_t now_ns() noexcept;
// Enters stage kPlain, for this cause.
void give_up(FamilySlot& slot, Why why) noexcept;
// From kNoted to kOffered, or from kCalling to kLane. False: a detach came first, and the segment stays unused.
bool enter_lane(int number, std::uint32_t index, FamilySlot& slot, Segment& segment, std::size_t capacity,
                Stage before) noexcept;
// The meeting fails: the lane is removed without a trace.
void take_offer_back(std::uint32_t index, FamilySlot& slot, Segment* segment) noexcept;
// The time limit of a meeting.
inline constexpr std::uint64_t kNanosecondsMax = 5 * kNsPerSecond;

// --- meeting_afar.cc: with a peer on another host ---
between::Place16 far_place(const Point& point) noexcept;
bool wants_other_hosts(const SocketsSettings& settings) noexcept;
// The caller asks the other host.
void call_other_host(int number, std::uint32_t index, FamilySlot& slot, const Point& own,
                     const Point& peer) noexcept;
void join_afar(int number, std::uint32_t index, FamilySlot& slot, between::HostLink& link) noexcept;
// This end's offer may lie at an agent's card. True: it did.
bool answer_invitation(int number, std::uint32_t index, FamilySlot& slot, Segment* segment) noexcept;
void await_stream(int number, std::uint32_t index, FamilySlot& slot, between::HostLink& link) noexcept;

}  // namespace exs::sockets
