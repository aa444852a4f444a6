// Looking: a waiter looks into the ring of a connection himself, so the peer need not ring. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/table/patience.h"
#include "sockets/preload/table/slot.h"
#include "sockets/settings/settings.h"

namespace exs::sockets {

// The time that a thread may look before it sleeps; 0: none.
std::uint32_t looking_ns(Patience& patience, const SocketsSettings& settings) noexcept;
// looking_ns() would not be 0. A thread that sleeps at once calls patience.skip().
bool will_look(const Patience& patience, const SocketsSettings& settings) noexcept;

// The layer sees every waiter for the connection, and no thread sleeps now.
bool may_look(const FamilySlot& slot, std::uint32_t index) noexcept;
// The peer rings no bells from now on. False: it still does.
bool start_looking(int number, std::uint32_t slot) noexcept;
// False: the ring has bytes, so no sleep is needed. A thread that wants to sleep must already count among the
// sleepers.
bool stop_looking(int number, std::uint32_t slot) noexcept;
bool is_looking(std::uint32_t slot) noexcept;
// A waiter is edge-triggered. Each put of the peer then rings a bell, also while the ring has bytes.
void want_each_bell(int number, std::uint32_t slot) noexcept;
// The ring of a looked-at connection has bytes. If the peer takes reported bytes back, the next receive
// detects that.
bool has_bytes(std::uint32_t slot) noexcept;
// TCP is readable for more than bells, as the kernel reports. Takes the bells if not.
bool is_readable(int number, std::uint32_t slot) noexcept;
// TCP seems to have a bell and nothing else.
bool has_bell_alone(std::uint32_t slot) noexcept;
// For a receive that found no bytes. The caller holds the lock for receiving.
bool was_told_of_bytes(const FamilySlot& slot) noexcept;
// The open ring has room for at least a byte.
bool has_room(std::uint32_t slot) noexcept;
// Bytes that the peer ever put into the ring, and that were ever taken.
std::uint64_t bytes_written(std::uint32_t slot) noexcept;
std::uint64_t bytes_received(std::uint32_t slot) noexcept;
// The time at which the peer put the first unread byte there, as it says; 0: unknown.
std::uint64_t filled_ns(std::uint32_t slot) noexcept;

}  // namespace exs::sockets
