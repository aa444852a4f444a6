// The layout of a family's memory in its memfd, for the family and for outside readers. Memory of another
// process may hold anything.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>

#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

inline constexpr char kArenaName[] = "exs-sockets-family";
inline constexpr long kArenaSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
inline constexpr std::uint32_t kSlots = 32768;
inline constexpr std::uint64_t kArenaMagic = 0x31616e6572617865;  // "exarena1"
// Count it up when a value of a slot, of Why or of a state (slot_states.h) changes its meaning. layout_of_slot() covers their
// places.
inline constexpr std::uint32_t kArenaVersion = 4;

// Hashes the places of the fields that outside readers use.
constexpr std::uint32_t layout_of_slot() noexcept {
  constexpr std::size_t kPlaces[] = {
      sizeof(FamilySlot),
      offsetof(FamilySlot, stage),
      offsetof(FamilySlot, generation),
      offsetof(FamilySlot, why),
      offsetof(FamilySlot, is_caller),
      offsetof(FamilySlot, processes),
      offsetof(FamilySlot, turned_for),
      offsetof(FamilySlot, receives),
      offsetof(FamilySlot, end),
      offsetof(FamilySlot, inode),
      offsetof(FamilySlot, lane),
      offsetof(LaneFacts, capacity),
      offsetof(FamilySlot, meeting),
      offsetof(SlotMeeting, calls),
      offsetof(FamilySlot, options),
      offsetof(ProgramOptions, shut),
      offsetof(FamilySlot, sender),
      offsetof(lane::SenderState, open),
      offsetof(lane::SenderState, final),
      offsetof(lane::SenderState, epoch),
      offsetof(FamilySlot, receiver),
      offsetof(lane::ReceiverState, entered),
      offsetof(lane::ReceiverState, passed),
      offsetof(FamilySlot, counters),
      offsetof(SlotCounters, ring_sent),
      offsetof(SlotCounters, looks_missed),
  };
  std::uint32_t number = 2166136261U;  // FNV-1a
  for (const std::size_t place : kPlaces) number = (number ^ static_cast<std::uint32_t>(place)) * 16777619U;
  return number;
}

struct ArenaHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t layout;
  std::uint32_t slot_bytes;
  std::uint32_t slots;

  friend bool operator==(const ArenaHeader&, const ArenaHeader&) = default;
};
// The header of a family whose slots this build can read.
inline constexpr ArenaHeader kArenaHeader{kArenaMagic, kArenaVersion, layout_of_slot(), sizeof(FamilySlot),
                                          kSlots};

inline constexpr std::size_t kArenaPage = 4096;

struct Arena {
  ArenaHeader header;
  FamilySlot slots[kSlots];  // the first is unused
};

constexpr std::size_t place_of_slot(std::uint32_t index) noexcept {
  return offsetof(Arena, slots) + index * sizeof(FamilySlot);
}

// A process maps the slots piece by piece as it uses them. The first piece includes the header.
inline constexpr std::uint32_t kSlotsPerPiece = 64;
inline constexpr std::uint32_t kPieces = kSlots / kSlotsPerPiece;
static_assert(kPieces * kSlotsPerPiece == kSlots);
constexpr std::size_t begin_of_piece(std::uint32_t piece) noexcept {
  return piece == 0 ? 0 : place_of_slot(piece * kSlotsPerPiece) / kArenaPage * kArenaPage;
}
constexpr std::size_t bytes_of_piece(std::uint32_t piece) noexcept {
  const std::size_t end = place_of_slot((piece + 1) * kSlotsPerPiece);
  return (end + kArenaPage - 1) / kArenaPage * kArenaPage - begin_of_piece(piece);
}

// The memfd has a hole for each slot behind the slots. A hole takes memory only while it has bytes.
inline constexpr std::size_t kSlotsBytes = (sizeof(Arena) + kArenaPage - 1) / kArenaPage * kArenaPage;
inline constexpr std::size_t kUnreadBytes = Segment::bytes(kCapacityMax);
inline constexpr std::size_t kArenaBytes = kSlotsBytes + kSlots * kUnreadBytes;

// The place of the slot's unread bytes.
constexpr std::size_t place_of_unread(std::uint32_t index) noexcept {
  return kSlotsBytes + index * kUnreadBytes;
}

}  // namespace exs::sockets
