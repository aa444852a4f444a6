// The ID of a service, which is derived from its public key, and the public name that strangers may see. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "service/wire/frames.h"

namespace exs::svc {

IdBytes id_of(const PublicKey& key);
// Every user of a host can read socket names, and every host of a network can read queries. So these carry a public name, which does not
// reveal the ID.
using PublicName = std::array<std::uint8_t, 16>;
PublicName public_name(const IdBytes& id);

// Two digits a byte.
std::string hex(Bytes bytes);
// Fills `to` completely, or returns false.
bool parse_hex(std::string_view digits, std::span<std::uint8_t> to);

std::string text_of(const IdBytes& id);
std::optional<IdBytes> parse_id(std::string_view text);

}  // namespace exs::svc
