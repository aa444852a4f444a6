// The key of a service: Ed25519 (RFC 8032). Thread: any, once made.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "service/names/hash.h"
#include "service/names/id.h"

namespace exs::svc {

// A signed statement: a hash, so its fields need no memory.
using Statement = std::array<std::uint8_t, 32>;

class Key {
 public:
  static constexpr std::size_t kSeedBytes = 32;

  // Makes a new key, or one from a seed.
  Key() noexcept;
  explicit Key(std::span<const std::uint8_t, kSeedBytes> seed) noexcept;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

  [[nodiscard]] const PublicKey& public_key() const noexcept { return public_; }
  [[nodiscard]] IdBytes id() const { return id_of(public_); }
  [[nodiscard]] Signature sign(const Statement& statement) const noexcept;
  // Derives a secret for one purpose, which does not reveal the key.
  [[nodiscard]] std::array<std::uint8_t, 32> derive(std::string_view purpose) const noexcept;

 private:
  friend class KeyFile;
  std::array<std::uint8_t, kSeedBytes> seed_;
  PublicKey public_;
  std::array<std::uint8_t, 64> secret_;
};

// The key of the name under which the adopter of a service waits for it. Only holders of the service's key can derive it.
inline Key adoption_key(const Key& key) {
  return Key(key.derive("exs-svc heir"));
}
bool is_signed(const Statement& statement, const Signature& signature, const PublicKey& key) noexcept;
void fill_random(std::span<std::uint8_t> bytes) noexcept;
std::uint64_t random_number() noexcept;

// A file of one line, "exs-key:" and the digits of the seed, with mode 0600.
class KeyFile {
 public:
  // EEXIST, and the errors of open(2) and write(2).
  static Status store(const Key& key, const char* path);
  // EACCES others may read the file, or another user owns it; EPROTO it holds no key; and the errors of open(2) and read(2).
  static Result<Key> load(const char* path);
};

}  // namespace exs::svc
