#include "src/provider/registry.h"

#include "src/base/log.h"
#include "src/provider/iwarp/iwarp.h"
#include "src/provider/shm/shm.h"
#ifndef EXS_WITHOUT_VERBS
#include "src/provider/verbs/verbs.h"
#endif

namespace exs {

ProviderSet& providers() {
  static ProviderSet* const set = [] {
    auto* made = new ProviderSet;
    made->add(*iwarp::make_iwarp_provider().release(), Role::kNetwork);
    made->add(*shm::make_shm_provider().release(), Role::kSameHost);
#ifndef EXS_WITHOUT_VERBS
    made->add(*verbs::make_verbs_provider().release(), Role::kDevice);
#endif
    return made;
  }();
  return *set;
}

Result<Choice> choice_of(std::string_view text) {
  const auto choice = Choice::parse(text);
  const auto is_built = [&](ProviderId id) { return providers().find(id) != nullptr; };
  bool possible = choice.has_value() && (!choice->preferred || is_built(*choice->preferred));
  bool any = false;
  for (std::size_t i = 0; possible && i < kProviderIds; ++i) {
    const auto id = static_cast<ProviderId>(i);
    any = any || (choice->allows(id) && is_built(id));
  }
  if (possible && any) return choice;
  return failure(
      fault(LogLevel::kError, ENOTSUP,
            "provider \"{}\": choose \"auto\", \"prefer:X\", \"require:X\" or \"forbid:X\" with X one of: {}",
            text, provider_names()));
}

const std::string& provider_names() {
  static const auto* const names = [] {
    auto* made = new std::string;
    for (std::size_t i = 0; i < kProviderIds; ++i) {
      const auto id = static_cast<ProviderId>(i);
      if (providers().find(id) == nullptr) continue;
      *made += (made->empty() ? "" : ",") + std::string(name_of(id));
    }
    return made;
  }();
  return *names;
}

}  // namespace exs
