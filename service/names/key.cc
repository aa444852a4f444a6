// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace exs::svc {
namespace {

constexpr std::string_view kKeyPrefix = "exs-key:";
constexpr std::size_t kKeyFileBytes = kKeyPrefix.size() + 2 * Key::kSeedBytes + 1;

// libsodium needs this once, before its random numbers are ready.
void begin_sodium() noexcept {
  static const bool ready = sodium_init() >= 0;
  static_cast<void>(ready);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = kernel::write(file, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

// Reads up to `most` bytes, or to the end of the file.
bool read_some(int file, std::string& text, std::size_t most) {
  text.resize(most);
  std::size_t at = 0;
  while (at < most) {
    const ssize_t bytes = kernel::read(file, text.data() + at, most - at);
    if (bytes == 0) break;
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) at += static_cast<std::size_t>(bytes);
  }
  text.resize(at);
  return true;
}

}  // namespace

void fill_random(std::span<std::uint8_t> bytes) noexcept {
  begin_sodium();
  randombytes_buf(bytes.data(), bytes.size());
}

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  begin_sodium();
  while (number == 0) randombytes_buf(&number, sizeof number);
  return number;
}

Key::Key() noexcept {
  fill_random(seed_);
  crypto_sign_seed_keypair(public_.data(), secret_.data(), seed_.data());
}

Key::Key(std::span<const std::uint8_t, kSeedBytes> seed) noexcept {
  begin_sodium();
  std::copy(seed.begin(), seed.end(), seed_.begin());
  crypto_sign_seed_keypair(public_.data(), secret_.data(), seed_.data());
}

Key::~Key() {
  sodium_memzero(seed_.data(), seed_.size());
  sodium_memzero(secret_.data(), secret_.size());
}

Signature Key::sign(const Statement& statement) const noexcept {
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, statement.data(), statement.size(), secret_.data());
  return signature;
}

std::array<std::uint8_t, 32> Key::derive(std::string_view purpose) const noexcept {
  return Hash<32>(purpose, seed_).end();
}

bool is_signed(const Statement& statement, const Signature& signature, const PublicKey& key) noexcept {
  begin_sodium();
  return crypto_sign_verify_detached(signature.data(), statement.data(), statement.size(), key.data()) == 0;
}

Status KeyFile::store(const Key& key, const char* path) {
  const UniqueFd file(kernel::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return Status(errno);
  std::string digits = hex(key.seed_);
  std::string text;
  text.reserve(kKeyFileBytes);  // so that growing leaves no copy of the key behind
  text.append(kKeyPrefix).append(digits).append(1, '\n');
  sodium_memzero(digits.data(), digits.size());
  const bool written = write_all(file.get(), text) && kernel::fsync(file.get()) == 0;
  const int error = written ? 0 : errno;
  sodium_memzero(text.data(), text.size());
  if (!written) kernel::unlink(path);
  return Status(error);
}

Result<Key> KeyFile::load(const char* path) {
  const UniqueFd file(kernel::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat about {};
  if (!file.valid() || kernel::fstat(file.get(), &about) != 0) return failure(errno);
  if (!S_ISREG(about.st_mode)) return failure(EPROTO);
  if ((about.st_mode & 077) != 0 || about.st_uid != kernel::geteuid()) return failure(EACCES);
  std::string text;
  if (!read_some(file.get(), text, kKeyFileBytes + 1)) return failure(errno);
  std::array<std::uint8_t, Key::kSeedBytes> seed;
  const std::string_view line(text);
  const bool fits = line.size() == kKeyFileBytes && line.starts_with(kKeyPrefix) && line.ends_with('\n') &&
                    parse_hex(line.substr(kKeyPrefix.size(), 2 * Key::kSeedBytes), seed);
  Result<Key> key = failure(EPROTO);
  if (fits) key.emplace(seed);
  sodium_memzero(text.data(), text.size());
  sodium_memzero(seed.data(), seed.size());
  return key;
}

}  // namespace exs::svc
