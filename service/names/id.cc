// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/id.h"

#include "service/names/hash.h"

namespace exs::svc {
namespace {

constexpr std::string_view kIdPrefix = "exs:";

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

IdBytes id_of(const PublicKey& key) {
  return Hash<16>("exs-svc id").add(key).end();
}

PublicName public_name(const IdBytes& id) {
  return Hash<16>("exs-svc name").add(id).end();
}

std::string hex(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool parse_hex(std::string_view digits, std::span<std::uint8_t> to) {
  if (digits.size() != 2 * to.size()) return false;
  for (const char c : digits) {
    if (digit(c) < 0) return false;
  }
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::uint8_t>(16 * digit(digits[2 * i]) + digit(digits[2 * i + 1]));
  return true;
}

std::string text_of(const IdBytes& id) {
  return std::string(kIdPrefix) + hex(id);
}

std::optional<IdBytes> parse_id(std::string_view text) {
  IdBytes id;
  if (!text.starts_with(kIdPrefix) || !parse_hex(text.substr(kIdPrefix.size()), id)) return {};
  return id;
}

}  // namespace exs::svc
