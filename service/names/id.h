// The ID of a service, which follows from its public key, and what strangers may see of it. Thread: any.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "service/wire/frames.h"

namespace exs::svc {

IdBytes id_of(const PublicKey& key);
// Names of sockets can be read by all of a host, and queries by all of a network: they have this. An ID does not follow from it.
using PublicName = std::array<std::uint8_t, 16>;
PublicName public_name(const IdBytes& id);

// Two digits a byte.
std::string hex(Bytes bytes);
// Writes exactly `to`, or nothing.
bool parse_hex(std::string_view digits, std::span<std::uint8_t> to);

std::string text_of(const IdBytes& id);
std::optional<IdBytes> parse_id(std::string_view text);

}  // namespace exs::svc
