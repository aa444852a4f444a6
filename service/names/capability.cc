// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/capability.h"

namespace exs::svc {
namespace {

constexpr std::string_view kCapabilityPrefix = "exs-cap:";
constexpr std::size_t kCapabilityBytes = 16 + 4 + 4 + 8 + 32;

std::array<std::uint8_t, 32> secret_of(const Key& key, std::uint32_t rights, std::uint32_t serial,
                                       std::int64_t expires_ms) {
  return Hash<32>("exs-svc capability", key.derive("exs-svc capabilities"))
      .number(rights)
      .number(serial)
      .number(static_cast<std::uint64_t>(expires_ms))
      .end();
}

Proof proof_of(const std::array<std::uint8_t, 32>& secret, const Statement& about) {
  return Hash<32>("exs-svc proof", secret).add(about).end();
}

}  // namespace

Capability make_capability(const Key& key, std::uint32_t rights, std::uint32_t serial,
                           std::int64_t expires_ms) {
  return {key.id(), rights, serial, expires_ms, secret_of(key, rights, serial, expires_ms)};
}

std::string text_of(const Capability& capability) {
  std::array<std::uint8_t, kCapabilityBytes> bytes;
  Writer writer(bytes);
  writer.raw(capability.id);
  writer.number(capability.rights);
  writer.number(capability.serial);
  writer.number(static_cast<std::uint64_t>(capability.expires_ms));
  writer.raw(capability.secret);
  return std::string(kCapabilityPrefix) + hex(bytes);
}

std::optional<Capability> parse_capability(std::string_view text) {
  std::array<std::uint8_t, kCapabilityBytes> bytes;
  if (!text.starts_with(kCapabilityPrefix) || !parse_hex(text.substr(kCapabilityPrefix.size()), bytes))
    return {};
  Reader reader(bytes);
  Capability capability;
  capability.id = reader.array<16>();
  capability.rights = reader.number<std::uint32_t>();
  capability.serial = reader.number<std::uint32_t>();
  capability.expires_ms = static_cast<std::int64_t>(reader.number<std::uint64_t>());
  capability.secret = reader.array<32>();
  return capability;
}

CapabilityProof prove(const Capability& capability, const Statement& about) {
  return {capability.rights, capability.serial, capability.expires_ms, proof_of(capability.secret, about)};
}

bool proves(const Key& key, const CapabilityProof& shown, const Statement& about) {
  const Proof expected = proof_of(secret_of(key, shown.rights, shown.serial, shown.expires_ms), about);
  return sodium_memcmp(expected.data(), shown.proof.data(), expected.size()) == 0;
}

}  // namespace exs::svc
