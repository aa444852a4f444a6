// BLAKE2b over fields of fixed lengths, with a word for the purpose before them. So no hash for one purpose is valid for another.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sodium.h>

#include <array>
#include <string_view>

#include "service/wire/cursor.h"

namespace exs::svc {

template <std::size_t kBytes>
class Hash {
 public:
  explicit Hash(std::string_view purpose, Bytes key = {}) noexcept {
    crypto_generichash_init(&state_, key.empty() ? nullptr : key.data(), key.size(), kBytes);
    // The terminating zero keeps one purpose from being a prefix of another.
    add({reinterpret_cast<const std::uint8_t*>(purpose.data()), purpose.size()}).number(std::uint8_t{0});
  }
  Hash& add(Bytes bytes) noexcept {
    crypto_generichash_update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  template <class Number>
  Hash& number(Number value) noexcept {
    std::array<std::uint8_t, sizeof(Number)> bytes;
    Writer(bytes).number(value);
    return add(bytes);
  }
  std::array<std::uint8_t, kBytes> end() noexcept {
    std::array<std::uint8_t, kBytes> hash;
    crypto_generichash_final(&state_, hash.data(), hash.size());
    return hash;
  }

 private:
  crypto_generichash_state state_;
};

}  // namespace exs::svc
