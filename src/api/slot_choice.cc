#include "src/api/slot_choice.h"

#include <algorithm>

namespace exs {

std::optional<SlotChoice> choose_slot(std::uint64_t sequence, std::uint64_t slot_count,
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

}  // namespace exs
