// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/registry.h"

#include <atomic>
#include <memory>
#include <string>

#include "base/lazy.h"
#include "src/log/log.h"
#include "src/provider/iwarp/iwarp.h"
#include "src/provider/reason.h"
#include "src/provider/shm/shm.h"
#include "src/provider/sim/sim.h"
#ifndef EXS_WITHOUT_VERBS
#include "src/provider/verbs/verbs.h"
#endif

namespace exs {

namespace {

std::unique_ptr<ProviderSet> make_providers() {
  auto made = std::make_unique<ProviderSet>();
  made->adopt(iwarp::make_iwarp_provider(), Role::kNetwork);
  made->adopt(shm::make_shm_provider(), Role::kSameHost);
#ifndef EXS_WITHOUT_VERBS
  made->adopt(verbs::make_verbs_provider(), Role::kDevice);
#endif
  return made;
}

constinit Lazy<ProviderSet> the_providers;
constinit Lazy<ProviderSet> the_simulated_provider;
constinit std::atomic<sim::SimProvider*> the_simulation{nullptr};
constinit std::atomic<bool> is_simulating{false};

// Kept for later simulations. Called by one thread at a time.
sim::SimProvider& simulator() {
  if (the_simulation == nullptr) {
    ProviderSet& alone = the_simulated_provider.get();
    auto provider = sim::make_sim_provider();
    the_simulation = provider.get();
    alone.adopt(std::move(provider), Role::kNetwork);
  }
  return *the_simulation.load();
}

// The settings behind the name, if the text names it.
bool names_simulation(std::string_view text, std::string_view& settings) {
  constexpr std::string_view kName = "sim";
  for (const std::string_view verb : {"require:", "prefer:"}) {
    if (text.starts_with(verb) && text.substr(verb.size()) == kName) return true;
  }
  if (!text.starts_with(kName)) return false;
  settings = text.substr(kName.size());
  if (settings.empty()) return true;
  if (settings.front() != ':') return false;
  settings.remove_prefix(1);
  return true;
}

std::unique_ptr<const std::string> make_names() {
  auto made = std::make_unique<std::string>();
  for (std::size_t i = 0; i < kProviderIds; ++i) {
    const auto id = static_cast<ProviderId>(i);
    if (the_providers.get(make_providers).find(id) == nullptr) continue;
    *made += (made->empty() ? "" : ",") + std::string(name_of(id));
  }
  return made;
}

bool is_built(ProviderId id) {
  return providers().find(id) != nullptr;
}

// This build has the preferred provider, and an allowed one.
bool can_carry(const Choice& choice) {
  if (choice.preferred && !is_built(*choice.preferred)) return false;
  for (std::size_t i = 0; i < kProviderIds; ++i) {
    const auto id = static_cast<ProviderId>(i);
    if (choice.allows(id) && is_built(id)) return true;
  }
  return false;
}

constinit Lazy<const std::string> the_names;
ProviderSet* held[2] = {nullptr, nullptr};  // by the forking thread

}  // namespace

ProviderSet& providers() {
  if (is_simulating) return *the_simulated_provider.made();
  return the_providers.get(make_providers);
}

Result<std::string> choose_providers(std::string_view wish) {
  std::string_view words;
  if (!names_simulation(wish, words)) {
    is_simulating = false;
    return std::string(wish);
  }
  if (const std::string wrong = simulator().restart(words); !wrong.empty())
    return failure(fault(LogLevel::kError, EINVAL, "EXS_PROVIDER={}: {}", wish, wrong));
  is_simulating = true;
  return std::string("sim");
}

sim::SimProvider* simulation() noexcept {
  return is_simulating ? the_simulation.load() : nullptr;
}

std::uint8_t all_choices() noexcept {
  return is_simulating ? Choice::kSimulated : Choice::kAll;
}

void lock_providers() noexcept {
  held[0] = the_providers.made();
  held[1] = the_simulated_provider.made();
  for (ProviderSet* const set : held) {
    if (set != nullptr) set->before_fork();
  }
}

void unlock_providers(ForkSide side) noexcept {
  for (ProviderSet* const set : held) {
    if (set != nullptr) set->after_fork(side);
  }
}

Result<Choice> choice_of(std::string_view text) {
  const auto choice = Choice::parse(text, all_choices());
  if (!choice) {
    return failure(fault(
        LogLevel::kError, ENOTSUP,
        "provider \"{}\": choose \"auto\", \"prefer:X\", \"require:X\" or \"forbid:X\" with X one of: {}",
        text, provider_names()));
  }
  if (can_carry(*choice)) return choice;
  if (is_simulating || choice->allowed == Choice::kSimulated || choice->preferred == ProviderId::kSim) {
    return failure(
        fault(LogLevel::kError, ENOTSUP,
              "provider \"{}\": sim is chosen for a whole process, which then has nothing else: set "
              "EXS_PROVIDER=sim before exs_init, or leave it out (exs-sim(7))",
              text));
  }
  return failure(fault(LogLevel::kError, ENOTSUP, "provider \"{}\": {}: this build of exs has: {}; {}", text,
                       reason_name(ReasonCode::kNotBuilt), provider_names(),
                       reason_cure(ReasonCode::kNotBuilt)));
}

const std::string& provider_names() {
  static constinit Lazy<const std::string> simulated;
  if (is_simulating) return simulated.get([] { return std::make_unique<const std::string>("sim"); });
  return the_names.get(make_names);
}

}  // namespace exs
