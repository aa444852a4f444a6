// Memory that is registered with a provider.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

#include "base/unique_fd.h"
#include "src/provider/provider.h"

namespace exs::test {

class RegisteredMemory {
 public:
  // `provider` null: the memory is not registered. `shared`: peers can map it, as memory of exs_alloc.
  RegisteredMemory(Provider* provider, std::size_t bytes, bool shared);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  void fill(std::span<const std::byte> content);
  [[nodiscard]] std::span<std::byte> span() const { return {start_, bytes_}; }
  [[nodiscard]] LocalSlice slice() const { return {start_, bytes_, key_}; }
  [[nodiscard]] LocalSlice slice(std::size_t offset, std::size_t bytes) const {
    return {start_ + offset, bytes, key_};
  }
  [[nodiscard]] bool holds(std::span<const std::byte> expected, std::size_t offset = 0) const;

 private:
  Provider* const provider_;
  UniqueFd fd_;
  std::byte* start_ = nullptr;
  const std::size_t bytes_;
  MemoryKey key_;
};

}  // namespace exs::test
