// The right to use a service. Its secret is derived from the service's key and the capability's fields, so the service keeps no list. The
// secret never travels: its holder proves it over the nonces of both ends of a link. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "service/names/key.h"

namespace exs::svc {

struct Capability {
  IdBytes id{};
  std::uint32_t rights = 0;
  std::uint32_t serial = 0;
  std::int64_t expires_ms = 0;  // since 1970; 0: never
  std::array<std::uint8_t, 32> secret{};
};

Capability make_capability(const Key& key, std::uint32_t rights, std::uint32_t serial,
                           std::int64_t expires_ms);
std::string text_of(const Capability& capability);
std::optional<Capability> parse_capability(std::string_view text);

// `about` covers this use; the nonces of both ends come first.
CapabilityProof prove(const Capability& capability, const Statement& about);
bool proves(const Key& key, const CapabilityProof& shown, const Statement& about);

}  // namespace exs::svc
