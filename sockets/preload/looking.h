// Whether whoever waits for a connection looks into its ring himself, so that the peer need not ring. Thread: any.
#pragma once

#include <cstdint>

#include "sockets/preload/patience.h"
#include "sockets/preload/slot.h"
#include "sockets/settings/settings.h"

namespace exs::sockets {

// What a thread may spend on looking before it sleeps; 0: nothing.
std::uint32_t looking_ns(Patience& patience, const Settings& settings) noexcept;
// Whether that is something. Who sleeps at once says so with patience.skip().
bool will_look(const Patience& patience, const Settings& settings) noexcept;

// Everybody who waits for the connection comes through the layer, and nobody sleeps now.
bool may_look(const Slot& slot, std::uint32_t index) noexcept;
// From now on the peer rings no bell. False: it does.
bool start_looking(int number, std::uint32_t slot) noexcept;
// False: there are bytes in the ring, and no sleep is needed. Whoever sleeps has counted himself among the sleepers before.
bool stop_looking(int number, std::uint32_t slot) noexcept;
bool is_looking(std::uint32_t slot) noexcept;
// Somebody waits for edges: what the peer puts into the ring rings a bell while others lie there, too.
void want_each_bell(int number, std::uint32_t slot) noexcept;
// Bytes are in the ring of a connection that is looked at. A peer that takes back what whoever waits has been told is found out
// by the next receive.
bool has_bytes(std::uint32_t slot) noexcept;
// TCP is readable, as the kernel says: not for bells alone, which are taken then.
bool is_readable(int number, std::uint32_t slot) noexcept;
// TCP has a bell, as it seems, and nothing else is there.
bool has_bell_alone(std::uint32_t slot) noexcept;
// With the lock for receiving held, of a receive that found none.
bool was_told_of_bytes(const Slot& slot) noexcept;
// The open ring takes at least a byte.
bool has_room(std::uint32_t slot) noexcept;
// Bytes put into the ring by the peer, ever, and taken from there.
std::uint64_t bytes_written(std::uint32_t slot) noexcept;
std::uint64_t bytes_received(std::uint32_t slot) noexcept;
// When the peer put the first of the bytes there that are unread, as it says; 0: that is not known.
std::uint64_t filled_ns(std::uint32_t slot) noexcept;

}  // namespace exs::sockets
