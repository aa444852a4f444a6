// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lanes/family.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace lanes {
namespace {

using exs::sockets::ArenaHeader;
using exs::sockets::FamilySlot;
using exs::sockets::Segment;
using exs::sockets::Stage;

// A byte of foreign memory may be an invalid bool.
template <typename Flag>
bool is_set(const Flag& flag) {
  static_assert(sizeof flag == 1);
  unsigned char byte = 0;
  std::memcpy(&byte, static_cast<const void*>(&flag), sizeof byte);
  return byte != 0;
}

// Reads instead of mapping: reading a hole allocates no memory, and checked values cannot change.
template <typename Value>
bool read_at(int descriptor, std::size_t place, Value* values, std::size_t count) {
  const std::size_t bytes = count * sizeof *values;
  return ::pread(descriptor, static_cast<void*>(values), bytes, static_cast<off_t>(place)) ==
         static_cast<ssize_t>(bytes);
}

std::uint64_t written_carried(int descriptor, std::uint32_t index, bool is_caller) {
  const auto segment = std::make_unique<Segment>();
  if (!read_at(descriptor, exs::sockets::place_of_unread(index), segment.get(), 1)) return 0;
  return (is_caller ? segment->from_called : segment->from_caller).written.load();
}

SlotFacts facts_of(const FamilySlot& slot) {
  constexpr std::uint8_t kSendingShut = 2;
  SlotFacts facts;
  facts.stage = slot.stage.load();
  facts.why = slot.why.load();
  facts.turned_for = slot.turned_for.load();
  facts.is_caller = is_set(slot.is_caller);
  facts.processes = slot.processes.load();
  facts.calls = slot.meeting.calls.load();
  facts.inode = slot.inode;
  facts.capacity = slot.lane.capacity <= exs::sockets::kCapacityMax ? slot.lane.capacity : 0;
  facts.sends_by_ring = is_set(slot.sender.open);
  facts.sends_by_tcp_for_good = is_set(slot.sender.final);
  facts.is_ended =
      slot.end.load() != exs::sockets::SlotEnd::kOpen || (slot.options.shut.load() & kSendingShut) != 0;
  facts.stretches_sent = slot.sender.epoch;
  facts.written = slot.sender.written;
  facts.receives_in_lane = exs::sockets::is_in_lane(slot);
  facts.is_in_stretch = slot.receiver.entered != slot.receiver.passed;
  facts.is_carried = exs::sockets::is_carried(slot);
  facts.consumed = slot.receiver.consumed;
  facts.ring_sent = slot.counters.ring_sent.load();
  facts.tcp_sent = slot.counters.tcp_sent.load();
  facts.ring_received = slot.counters.ring_received.load();
  facts.tcp_received = slot.counters.tcp_received.load();
  facts.turns = slot.counters.turns.load();
  facts.bells = slot.counters.bells.load();
  facts.sleeps = slot.counters.sleeps.load();
  facts.looks_found = slot.counters.looks_found.load();
  facts.looks_missed = slot.counters.looks_missed.load();
  return facts;
}

bool is_taken(const FamilySlot& slot) {
  const auto stage = static_cast<std::uint32_t>(slot.stage.load());
  return stage != static_cast<std::uint32_t>(Stage::kFree) &&
         stage <= static_cast<std::uint32_t>(Stage::kPlain);
}

void read_slots(int descriptor, SocketsFamily& family) {
  constexpr std::uint32_t kPiece = 32;
  const auto slots = std::make_unique<FamilySlot[]>(kPiece);
  for (std::uint32_t first = 1; first < exs::sockets::kSlots; first += kPiece) {
    const std::uint32_t count = std::min(kPiece, exs::sockets::kSlots - first);
    if (!read_at(descriptor, exs::sockets::place_of_slot(first), slots.get(), count)) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (slots[i].generation.load() == 0) return;  // no slot behind it was ever used either
      if (!is_taken(slots[i])) continue;
      SlotFacts facts = facts_of(slots[i]);
      if (facts.is_carried) facts.written_carried = written_carried(descriptor, first + i, facts.is_caller);
      family.by_inode.insert_or_assign(facts.inode, facts);
    }
  }
}

}  // namespace

SocketsFamily read_family(int descriptor) {
  using State = SocketsFamily::State;
  SocketsFamily family;
  struct stat about {};
  ArenaHeader header{};
  if (::fstat(descriptor, &about) != 0) return family;
  family.state = State::kDamaged;
  if (::fcntl(descriptor, F_GET_SEALS) != exs::sockets::kArenaSeals) return family;
  if (!read_at(descriptor, 0, &header, 1) || header.magic != exs::sockets::kArenaMagic) return family;
  family.state = State::kOtherVersion;
  if (!(header == exs::sockets::kArenaHeader) ||
      about.st_size != static_cast<off_t>(exs::sockets::kArenaBytes))
    return family;
  family.state = State::kReadable;
  read_slots(descriptor, family);
  return family;
}

}  // namespace lanes
