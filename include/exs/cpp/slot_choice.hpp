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
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SLOT_CHOICE_HPP
#define EXS_CPP_SLOT_CHOICE_HPP

#include <algorithm>
#include <cstdint>
#include <optional>

namespace exs::cpp::detail {

struct SlotChoice {
  std::uint64_t update = 0;          // that the slot holds
  std::uint64_t overwritten_by = 0;  // the next update of the slot
};

// The updates that have begun.
constexpr std::uint64_t begun_updates(std::uint64_t sequence) {
  return sequence / 2 + sequence % 2;
}

// The slot with the newest update of those that stay as they are while `updates` more begin, after the one
// under way; if there is none, the slot that stays for longest. `sequence` is that of the window. Null: no
// update is complete.
inline std::optional<SlotChoice> choose_slot(std::uint64_t sequence, std::uint64_t slot_count,
                                             std::uint64_t updates) {
  const std::uint64_t complete = sequence / 2;
  const std::uint64_t begun = begun_updates(sequence);
  std::optional<SlotChoice> best;
  std::uint64_t best_stays = 0;
  for (std::uint64_t index = 0; index < slot_count; ++index) {
    const std::uint64_t first = std::uint64_t{1} << index;
    if (complete < first) break;
    const std::uint64_t period = index + 1 < slot_count ? 2 * first : first;
    const std::uint64_t update = complete - (complete - first) % period;
    const std::uint64_t next = update + period;
    if (next <= begun) continue;  // it is being overwritten
    // Longer than wished is no better.
    const std::uint64_t stays = std::min(next - 1 - begun, updates);
    if (best && (stays < best_stays || (stays == best_stays && update < best->update))) continue;
    best = {update, next};
    best_stays = stays;
  }
  return best;
}

}  // namespace exs::cpp::detail

#endif  // EXS_CPP_SLOT_CHOICE_HPP
