// The providers that serve one process together, and the memory that all of them know by one key.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <span>

#include "src/provider/provider.h"

namespace exs {

// Thread: any, once filled.
class ProviderSet {
 public:
  void add(Provider& provider) { providers_[static_cast<std::size_t>(provider.id())] = &provider; }
  // Null: not in this build.
  [[nodiscard]] Provider* find(ProviderId id) const noexcept {
    // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
    return providers_[static_cast<std::size_t>(id)];
  }

  // `shared_fd` as of Provider::register_memory. EINVAL: no such range.
  Result<MemoryKey> register_memory(std::span<std::byte> region, Access access, int shared_fd) {
    const auto start = reinterpret_cast<std::uintptr_t>(region.data());
    if (region.data() == nullptr || region.empty() || start + region.size() < start) return failure(EINVAL);
    // Relaxed: the counter orders nothing, its values only have to differ.
    MemoryKey key;
    while (key.value == 0) key.value = next_key_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < providers_.size(); ++i) {
      if (providers_[i] == nullptr) continue;
      const Status status = providers_[i]->register_memory(key, region, access, shared_fd);
      if (status.ok()) continue;
      while (i-- > 0) {
        if (providers_[i] != nullptr) providers_[i]->deregister_memory(key);
      }
      return failure(status);
    }
    return key;
  }
  void deregister_memory(MemoryKey key) noexcept {
    for (Provider* provider : providers_) {
      if (provider != nullptr) provider->deregister_memory(key);
    }
  }

 private:
  std::array<Provider*, kProviderIds> providers_{};
  std::atomic<std::uint32_t> next_key_{1};
};

}  // namespace exs
