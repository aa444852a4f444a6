// The slots of a family: a process, its forks, and the programs that these become. The family shares this
// memory and trusts it. A process that gives up rights therefore leaves the family first (rights.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/table/arena_layout.h"

namespace exs::sockets {

// FamilySlot 0 is unused. The slot must be taken by this process or inherited from its parent. Thread: any.
FamilySlot& slot_at(std::uint32_t index) noexcept;
// Returns any slot of the family, also of an earlier program of this process. Null: the index is invalid, or
// there is no memory to map it.
FamilySlot* find_slot(std::uint32_t index) noexcept;
std::uint32_t index_of(const FamilySlot& slot) noexcept;
// Returns a free slot, reset to stage kNoted. 0: there is no free slot or no memory.
std::uint32_t take_slot() noexcept;
// No process has a number for it.
void free_slot(std::uint32_t index) noexcept;

// Memory of the family beside a slot, for bytes that were unread when the connection left its ring. Null: no
// memory.
Segment* map_unread(std::uint32_t index, std::size_t bytes) noexcept;
void unmap_unread(Segment* mapped, std::size_t capacity) noexcept;
// No process uses it.
void forget_unread(std::uint32_t index) noexcept;

// The memfd of this memory, for a program that takes over from this one. -1: it is lost.
int arena_descriptor() noexcept;
// This process hands it to no program.
void close_arena() noexcept;
// Takes over the memory before the process has any slot. False: the descriptor is no such memfd.
bool adopt_arena(int descriptor) noexcept;

// Other processes share this memory, or are about to.
void note_relatives() noexcept;
bool has_relatives() noexcept;
// Moves this process to memory of its own, with the slots for which `keeps` returns true; the relatives keep
// the old memory. References to slots stay valid. False: there is no memory, and the arena is gone.
bool part_from_relatives(bool (*keeps)(std::uint32_t index)) noexcept;

}  // namespace exs::sockets
