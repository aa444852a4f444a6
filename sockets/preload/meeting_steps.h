// Steps of the meeting that are the same whether the peer is on this host or on another. Thread: the one that meets (Slot::is_meeting).
#pragma once

#include <cstdint>

#include "sockets/between/link.h"
#include "sockets/preload/point.h"
#include "sockets/preload/segment.h"
#include "sockets/preload/slot.h"
#include "sockets/settings/settings.h"

namespace exs::sockets {

// Nanoseconds, to a few milliseconds.
std::uint64_t now_ns() noexcept;
// Stage kPlain, for this cause.
void give_up(Slot& slot, Why why) noexcept;
void enter_lane(int number, std::uint32_t index, Slot& slot, Segment& segment, std::size_t capacity,
                Stage stage) noexcept;
// Nobody is met: the lane is as if it had never been.
void take_offer_back(std::uint32_t index, Slot& slot, Segment* segment) noexcept;
// The ends do not meet any more when this has passed.
inline constexpr std::uint64_t kNanosecondsMax = 5'000'000'000;

// --- meeting_afar.cc: with a peer on another host ---
between::Place16 far_place(const Point& point) noexcept;
bool wants_other_hosts(const Settings& settings) noexcept;
// The caller asks.
void call_other_host(int number, std::uint32_t index, Slot& slot, const Point& own,
                     const Point& peer) noexcept;
void join_afar(int number, std::uint32_t index, Slot& slot, between::Link& link) noexcept;
// The called end has left its offer at what may be an agent's card. True: that was one.
bool answer_invitation(int number, std::uint32_t index, Slot& slot, Segment* segment) noexcept;
void await_stream(int number, std::uint32_t index, Slot& slot, between::Link& link) noexcept;

}  // namespace exs::sockets
