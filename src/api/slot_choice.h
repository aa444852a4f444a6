// Which slot of exs_slots_t a reader takes.
//
// Design notes
//  1. The owner stores update n into the slot whose index is the number of zero bits at the end of n, or into
//     the last slot if that is less. So from one counter, the window of the slots, a reader knows what each
//     slot holds and which update overwrites it; the owner keeps nothing else.
//  2. With S slots, S - 1 being the last index, a read during which d < 2^(S-2) updates begin finds a slot
//     that none of them overwrites, once 2^(S-1) updates are complete. Let 2^j > d, j < S - 1. Updates that
//     overwrite slot j and slot j + 1 are at least 2^j apart, so among d + 1 numbers in a row there are not
//     both, and one of the two slots stays as it is.
//  3. By the same count the newest slot that outlasts d more updates is at most 4 d + 2 updates old: doubling
//     the age that a slot reaches costs one slot.
#pragma once

#include <cstdint>
#include <optional>

namespace exs {

struct SlotChoice {
  std::uint64_t update = 0;          // that the slot holds
  std::uint64_t overwritten_by = 0;  // the next update of the slot
};

// The slot with the newest update of those that stay as they are while `updates` more begin, after the one
// under way; if there is none, the slot that stays for longest. `sequence` is that of the window. Null: no
// update is complete.
std::optional<SlotChoice> choose_slot(std::uint64_t sequence, std::uint64_t slot_count,
                                      std::uint64_t updates);

// The updates that have begun.
constexpr std::uint64_t begun_updates(std::uint64_t sequence) {
  return sequence / 2 + sequence % 2;
}

}  // namespace exs
