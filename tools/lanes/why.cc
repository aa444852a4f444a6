// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lanes/why.h"

#include "tools/common/units.h"

namespace lanes {
namespace {

using exs::sockets::Stage;
using exs::sockets::Why;

// Returns the reason that the end itself has. Nothing: its sends use the ring.
std::optional<Why> own_reason(const SlotFacts& slot) {
  if (slot.stage == Stage::kCalling || slot.stage == Stage::kOffered) return Why::kAsking;
  if (slot.stage == Stage::kNoted || slot.stage == Stage::kPlain) return slot.why;
  if (slot.is_ended) return Why::kEnded;
  if (slot.sends_by_tcp_for_good) return slot.why == Why::kNone ? Why::kPeerLeft : slot.why;
  if (!slot.receives_in_lane) return Why::kReceiving;
  if (slot.sends_by_ring) return std::nullopt;
  if (slot.turned_for != Why::kNone) return slot.turned_for;
  return slot.stretches_sent == 0 ? Why::kStarting : Why::kRingFull;
}

// An end that searches for the other one does not know why the search fails.
bool is_of_search(Why why) {
  return why == Why::kPeerNotPreloaded || why == Why::kNotMet || why == Why::kAsking;
}
Why seen_from_outside(Why own, const Ends& ends) {
  if (is_of_search(own) && ends.is_redirected) return Why::kRedirected;
  if (own == Why::kNotMet && ends.peer_is_loaded == false) return Why::kPeerNotPreloaded;
  return own;
}

// Returns the other end's reason if it is more precise. Nothing: it is not, or the other end is unknown.
std::optional<Why> reason_there(Why own, const SlotFacts* peer) {
  if (peer == nullptr || !(is_of_search(own) || own == Why::kNone || own == Why::kPeerLeft))
    return std::nullopt;
  if (peer->stage != Stage::kPlain && !(peer->stage == Stage::kLane && peer->sends_by_tcp_for_good))
    return std::nullopt;
  const bool knows = peer->why != Why::kNone && peer->why != Why::kPeerLeft && !is_of_search(peer->why);
  return knows ? std::optional(peer->why) : std::nullopt;
}

std::string more_of(Why why, const SlotFacts& slot) {
  if (why == Why::kNone) return tools::format(" (%u calls)", slot.calls);
  if (why == Why::kShared) return tools::format(" (%u have it now)", slot.processes);
  if (why != Why::kRingFull) return "";
  return tools::format(" (a ring of %s, %llu times so far)", tools::format_size(slot.capacity).c_str(),
                       static_cast<unsigned long long>(slot.turns));
}

}  // namespace

Explanation why_not(const Ends& ends) {
  const std::optional<Why> own = ends.slot != nullptr ? own_reason(*ends.slot) : Why::kNotKnown;
  if (!own) return {};
  const Why why = seen_from_outside(*own, ends);
  const exs::sockets::WhyText words = exs::sockets::text_of(why);
  Explanation explanation{words.code, words.sentence, words.cure, words.sentence};
  if (ends.slot != nullptr) explanation.fact += more_of(why, *ends.slot);
  if (const auto there = reason_there(why, ends.peer)) {
    const exs::sockets::WhyText words_there = exs::sockets::text_of(*there);
    explanation.fact += tools::format("; there: %s: %s", words_there.code, words_there.sentence);
    explanation.cure = words_there.cure;
  }
  return explanation;
}

}  // namespace lanes
