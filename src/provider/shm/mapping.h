// A memfd of fixed size, and mapped: no access within it can fault, whatever a peer does.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace exs::shm {

// Thread: the owner's.
class Mapping {
 public:
  // New and zero; the descriptor, for the peer, ends with its last owner. ENOMEM, EMFILE, EPERM ...:
  // memfd_create, or what followed, was refused.
  static Result<Mapping> create(std::size_t bytes, UniqueFd& descriptor_out);
  // Maps a peer's memory; the descriptor stays the caller's. EPROTO: it is no memfd of exactly this size,
  // sealed against shrinking and growing and open for writing. ENOMEM.
  static Result<Mapping> of_peer(int descriptor, std::size_t bytes);

  Mapping() = default;
  ~Mapping();
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit Mapping(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
  static Result<Mapping> map(int descriptor, std::size_t bytes);

  std::span<std::byte> bytes_;
};

}  // namespace exs::shm
