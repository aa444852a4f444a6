// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/choice.h"

#include <array>
#include <cerrno>

namespace exs {
namespace {

constexpr std::array<std::string_view, kProviderIds> kNames = {"iwarp", "shm", "verbs", "sim"};

}  // namespace

std::string_view name_of(ProviderId id) noexcept {
  return kNames[static_cast<std::size_t>(id)];
}

Result<ProviderId> provider_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ProviderId>(i);
  }
  return failure(EINVAL);
}

Result<Choice> Choice::parse(std::string_view text, std::uint8_t all) {
  Choice choice;
  choice.allowed = all;
  if (text == "auto") return choice;
  const std::size_t colon = text.find(':');
  const std::string_view verb = colon == std::string_view::npos ? "require" : text.substr(0, colon);
  const auto id = provider_named(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!id) return failure(EINVAL);
  if (verb == "require") {
    choice.allowed = bit(*id);
  } else if (verb == "forbid") {
    choice.allowed = static_cast<std::uint8_t>(all & ~bit(*id));
  } else if (verb == "prefer") {
    choice.preferred = *id;
  } else {
    return failure(EINVAL);
  }
  return choice;
}

}  // namespace exs
