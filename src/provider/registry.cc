#include "src/provider/registry.h"

#include "src/base/log.h"
#include "src/provider/iwarp/iwarp.h"

namespace exs {

Result<Provider*> find_provider(std::string_view name) {
  static Provider* const iwarp = iwarp::make_iwarp_provider().release();
  if (name == "auto" || name == iwarp->name()) return iwarp;
  log(LogLevel::kError,
      "provider \"%.*s\" is not in this build; it has: iwarp (choose \"iwarp\" or \"auto\")",
      static_cast<int>(name.size()), name.data());
  return failure(ENOTSUP);
}

std::string_view provider_names() noexcept {
  return "iwarp";
}

}  // namespace exs
