// The two ends of a flow, whose other end says anything; and the slots for returns.
// SPDX-License-Identifier: BSD-2-Clause
#include <map>
#include <set>

#include "service/flow/incoming.h"
#include "service/flow/outgoing.h"
#include "service/flow/slot_space.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::service_flow {

using namespace exs::svc;

void send(Input& input) {
  Outgoing outgoing;
  std::set<Outgoing::Slot> kept, sent;
  Outgoing::Slot next_slot = 0;
  const auto gone = [&](Outgoing::Slot slot, Fate fate) {
    hold(kept.erase(slot) == 1, "a slot goes once");
    if (fate == Fate::kTaken) hold(sent.contains(slot), "only what has left is taken");
  };
  for (int steps = 0; steps < 300 && !input.has_ended(); ++steps) {
    switch (input.below(10)) {
      case 0: outgoing.close(); break;
      case 1:
        static_cast<void>(outgoing.open(input.below(3), input.near(outgoing.first()), input.one_in(2), gone));
        break;
      case 2: static_cast<void>(outgoing.accept(input.near(outgoing.first()), gone)); break;
      case 3:
        outgoing.take_back();
        sent.clear();
        break;
      case 4: outgoing.give_up_waiting(gone); break;
      case 5:
        if (input.one_in(8)) outgoing.give_up(gone);
        break;
      case 6: {
        const auto slot = static_cast<Outgoing::Slot>(input.below(next_slot + 1));
        if (outgoing.remove(slot)) hold(kept.erase(slot) == 1, "a removed slot was kept");
        break;
      }
      case 7:
        if (const auto next = outgoing.next()) {
          sent.insert(next->slot);
          outgoing.left();
        }
        break;
      default:
        if (outgoing.is_full()) break;
        kept.insert(next_slot);
        outgoing.add(next_slot++);
        break;
    }
    hold(outgoing.count() == kept.size(), "all slots are kept or gone");
  }
}

struct Item {
  bool whole = false;
  [[nodiscard]] bool is_whole() const { return whole; }
};

void receive(Input& input) {
  Incoming<Item> incoming;
  for (int steps = 0; steps < 300 && !input.has_ended(); ++steps) {
    const std::uint64_t before = incoming.accepted();
    switch (input.below(6)) {
      case 0: {
        const std::uint64_t number = input.near(before + 1);
        if (incoming.turn_of(number) != decltype(incoming.turn_of(0))::kNext) break;
        if (!incoming.has_waiting() && input.one_in(2)) {
          incoming.take([] {});
        } else {
          hold(incoming.wait({}) == number, "the next number");
        }
        break;
      }
      case 1: incoming.for_each_waiting([&](Item& item) { item.whole |= input.one_in(2); }); break;
      case 2: incoming.take_whole_ones([](const Item&) {}); break;
      case 3:
        if (input.one_in(8)) incoming.forget_waiting();
        break;
      case 4: incoming.be_asked(); break;
      default: incoming.note_acknowledged(); break;
    }
    hold(incoming.accepted() >= before, "nothing accepted is forgotten");
  }
}

void take_slots(Input& input) {
  constexpr std::size_t kBytes = 4096;
  SlotSpace space(kBytes);
  std::map<std::size_t, std::size_t> slots;
  for (int steps = 0; steps < 300 && !input.has_ended(); ++steps) {
    if (input.one_in(3) && !slots.empty()) {
      const auto one = std::next(slots.begin(), static_cast<std::ptrdiff_t>(input.below(slots.size())));
      hold(space.is_slot(one->first), "a slot is one");
      space.give_back(one->first);
      slots.erase(one);
      continue;
    }
    const std::size_t bytes = 1 + (input.one_in(8) ? static_cast<std::size_t>(input()) : input.below(kBytes));
    if (bytes == 0) continue;
    const auto start = space.take(bytes);
    if (start) {
      hold(bytes <= kBytes && *start <= kBytes - bytes, "a slot lies inside");
      const auto behind = slots.lower_bound(*start);
      hold(behind == slots.end() || behind->first >= *start + bytes, "slots are apart");
      hold(behind == slots.begin() || std::prev(behind)->first + std::prev(behind)->second <= *start,
           "slots are apart");
      slots.emplace(*start, bytes);
    }
    const std::size_t at = static_cast<std::size_t>(input.near(kBytes)),
                      length = static_cast<std::size_t>(input.near(64));
    if (const auto slot = space.slot_of(at, length))
      hold(*slot <= at && length <= slots.at(*slot) - (at - *slot), "the bytes are in the slot");
  }
}

}  // namespace exs::fuzz::service_flow

EXS_FUZZ_TARGET(service_flow) {
  using namespace exs::fuzz::service_flow;
  switch (input.below(3)) {
    case 0: return send(input);
    case 1: return receive(input);
    default: return take_slots(input);
  }
}
