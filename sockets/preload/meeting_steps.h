// Steps of the meeting that serve peers on this host and on others. Thread: the one that meets
// (Slot::is_meeting).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/between/link.h"
#include "sockets/preload/point.h"
#include "sockets/preload/segment.h"
#include "sockets/preload/slot.h"
#include "sockets/settings/settings.h"

namespace exs::sockets {

// Nanoseconds, accurate to a few milliseconds.
std::uint64_t now_ns() noexcept;
// Enters stage kPlain, for this cause.
void give_up(Slot& slot, Why why) noexcept;
void enter_lane(int number, std::uint32_t index, Slot& slot, Segment& segment, std::size_t capacity,
                Stage stage) noexcept;
// The meeting fails: the lane is removed without a trace.
void take_offer_back(std::uint32_t index, Slot& slot, Segment* segment) noexcept;
// The time limit of a meeting.
inline constexpr std::uint64_t kNanosecondsMax = 5'000'000'000;

// --- meeting_afar.cc: with a peer on another host ---
between::Place16 far_place(const Point& point) noexcept;
bool wants_other_hosts(const Settings& settings) noexcept;
// The caller asks the other host.
void call_other_host(int number, std::uint32_t index, Slot& slot, const Point& own,
                     const Point& peer) noexcept;
void join_afar(int number, std::uint32_t index, Slot& slot, between::Link& link) noexcept;
// This end's offer may lie at an agent's card. True: it did.
bool answer_invitation(int number, std::uint32_t index, Slot& slot, Segment* segment) noexcept;
void await_stream(int number, std::uint32_t index, Slot& slot, between::Link& link) noexcept;

}  // namespace exs::sockets
