// What starts a job says anything to one of its processes; the others publish any card.
// SPDX-License-Identifier: BSD-2-Clause
#include <string>
#include <vector>

#include "src/message/card.h"
#include "tests/boot/false_launcher.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::boot_lines {

std::string any_line(Input& input) {
  switch (input.below(8)) {
    case 0: return "card " + std::to_string(input.near(1)) + " " + input.text(input.below(40)) + "\n";
    case 1: return "card " + std::to_string(input.below(3)) + " host 80\n";
    case 2: return "death " + std::to_string(input.near(1)) + "\n";
    case 3:
      return "job " + std::to_string(input.below(4)) + " 000102030405060708090a0b0c0d0eff " +
             std::to_string(input.near(2)) + "\n";
    case 4: return "death " + input.text(input.below(20)) + "\n";
    default: return input.text(input.below(100)) + (input.one_in(2) ? "\n" : "");
  }
}

void be_a_process(Input& input) {
  test::FalseLauncher launcher;
  if (!input.one_in(4)) launcher.say(test::FalseLauncher::kFirstLine);
  std::string said;
  while (!input.has_ended() && said.size() < 20'000) said += any_line(input);
  launcher.say(said);
  launcher.say_no_more();  // so that nothing waits
  auto found = launcher.start(static_cast<int>(input.below(3)), 1 + static_cast<int>(input.below(3)));
  if (!found || *found == nullptr) return;
  if (const auto cards = (*found)->exchange("host 80")) {
    hold(cards->size() == static_cast<std::size_t>((*found)->size()), "a card of each rank");
    static_cast<void>(addresses_on(*cards));
  }
  for (int i = 0; i < 3; ++i)
    for (const int rank : (*found)->deaths()) hold(rank >= 0 && rank < (*found)->size(), "a death of a rank");
  (*found)->leave();
}

}  // namespace exs::fuzz::boot_lines

EXS_FUZZ_TARGET(boot_lines) {
  using namespace exs::fuzz;
  if (input.one_in(3)) {
    std::vector<std::string> cards;
    while (!input.has_ended() && cards.size() < 4) cards.push_back(input.text(1 + input.below(120)));
    static_cast<void>(exs::addresses_on(cards));
    return;
  }
  boot_lines::be_a_process(input);
}
