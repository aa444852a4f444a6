// The key of a service: Ed25519 (RFC 8032). Thread: any, once made.
#pragma once

#include <optional>
#include <string>

#include "service/names/hash.h"
#include "service/names/id.h"

namespace exs::svc {

// What is signed: a hash, so that its fields need no memory.
using Statement = std::array<std::uint8_t, 32>;

class Key {
 public:
  static constexpr std::size_t kSeedBytes = 32;

  // Of a seed, or of a new one.
  Key() noexcept;
  explicit Key(std::span<const std::uint8_t, kSeedBytes> seed) noexcept;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

  [[nodiscard]] const PublicKey& public_key() const noexcept { return public_; }
  [[nodiscard]] IdBytes id() const { return id_of(public_); }
  [[nodiscard]] Signature sign(const Statement& statement) const noexcept;
  // That of one purpose, which says nothing of the key.
  [[nodiscard]] std::array<std::uint8_t, 32> derive(std::string_view purpose) const noexcept;

 private:
  friend class KeyFile;
  std::array<std::uint8_t, kSeedBytes> seed_;
  PublicKey public_;
  std::array<std::uint8_t, 64> secret_;
};

// Of the name under which who is to have a service waits for it. Nobody else can know it.
inline Key heir_key(const Key& key) {
  return Key(key.derive("exs-svc heir"));
}
bool is_signed(const Statement& statement, const Signature& signature, const PublicKey& key) noexcept;
void fill_random(std::span<std::uint8_t> bytes) noexcept;
std::uint64_t random_number() noexcept;

// Of one line, "exs-key:" and the digits of the seed, and mode 0600.
class KeyFile {
 public:
  // errno values: EEXIST, and those of open(2) and write(2).
  static int store(const Key& key, const char* path);
  // EACCES others may read it, or it is another user's; EPROTO it is no key; those of open(2) and read(2).
  static int load(const char* path, std::optional<Key>& key);
};

}  // namespace exs::svc
