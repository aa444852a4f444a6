// The providers that one end allows for a connection, and the one it prefers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/provider/provider.h"

namespace exs {

struct Choice {
  // A process that simulates has nothing but sim, and others never have it.
  static constexpr std::uint8_t kSimulated = 1U << static_cast<unsigned>(ProviderId::kSim);
  static constexpr std::uint8_t kAll = ((1U << kProviderIds) - 1) & ~unsigned{kSimulated};

  std::uint8_t allowed = kAll;          // one bit a ProviderId
  std::optional<ProviderId> preferred;  // before the usual order

  static constexpr std::uint8_t bit(ProviderId id) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(id));
  }
  [[nodiscard]] bool allows(ProviderId id) const noexcept { return (allowed & bit(id)) != 0; }

  // "auto", "prefer:X", "require:X", "forbid:X", or "X", which requires it. EINVAL: none of these.
  // `all`: what "auto" allows.
  static Result<Choice> parse(std::string_view text, std::uint8_t all = kAll);
};

[[nodiscard]] std::string_view name_of(ProviderId id) noexcept;
Result<ProviderId> provider_named(std::string_view name);

}  // namespace exs
