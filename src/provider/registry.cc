// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/registry.h"

#include <memory>
#include <string>

#include "base/lazy.h"
#include "src/log/log.h"
#include "src/provider/iwarp/iwarp.h"
#include "src/provider/reason.h"
#include "src/provider/shm/shm.h"
#ifndef EXS_WITHOUT_VERBS
#include "src/provider/verbs/verbs.h"
#endif

namespace exs {

namespace {

std::unique_ptr<ProviderSet> make_providers() {
  auto made = std::make_unique<ProviderSet>();
  made->add(*iwarp::make_iwarp_provider().release(), Role::kNetwork);
  made->add(*shm::make_shm_provider().release(), Role::kSameHost);
#ifndef EXS_WITHOUT_VERBS
  made->add(*verbs::make_verbs_provider().release(), Role::kDevice);
#endif
  return made;
}

std::unique_ptr<const std::string> make_names() {
  auto made = std::make_unique<std::string>();
  for (std::size_t i = 0; i < kProviderIds; ++i) {
    const auto id = static_cast<ProviderId>(i);
    if (providers().find(id) == nullptr) continue;
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

constinit Lazy<ProviderSet> the_providers;
constinit Lazy<const std::string> the_names;
ProviderSet* held = nullptr;  // by the forking thread

}  // namespace

ProviderSet& providers() {
  return the_providers.get(make_providers);
}

void lock_providers() noexcept {
  held = the_providers.made();
  if (held != nullptr) held->before_fork();
}

void unlock_providers(ForkSide side) noexcept {
  if (held != nullptr) held->after_fork(side);
}

Result<Choice> choice_of(std::string_view text) {
  const auto choice = Choice::parse(text);
  if (!choice) {
    return failure(fault(
        LogLevel::kError, ENOTSUP,
        "provider \"{}\": choose \"auto\", \"prefer:X\", \"require:X\" or \"forbid:X\" with X one of: {}",
        text, provider_names()));
  }
  if (can_carry(*choice)) return choice;
  return failure(fault(LogLevel::kError, ENOTSUP, "provider \"{}\": {}: this build of exs has: {}; {}", text,
                       reason_name(ReasonCode::kNotBuilt), provider_names(),
                       reason_cure(ReasonCode::kNotBuilt)));
}

const std::string& provider_names() {
  return the_names.get(make_names);
}

}  // namespace exs
