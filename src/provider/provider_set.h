// The providers that serve one process together, the roles they play in it, and the memory that all of them
// know by one key.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/undo.h"
#include "src/provider/choice.h"
#include "src/provider/provider.h"

namespace exs {

// The roles of providers in connections. One provider plays each role, or none.
enum class Role : std::uint8_t {
  kNetwork,   // reaches any peer, and sets up what no other provider sets up by itself
  kSameHost,  // takes over connections of the network whose ends share a host
  kDevice,    // connects and listens by itself, where there is hardware
};
inline constexpr std::array kRoles = {Role::kNetwork, Role::kSameHost, Role::kDevice};

// Thread: any, once filled.
class ProviderSet {
 public:
  // Replaces the provider with that ID, and the player of the role.
  void add(Provider& provider, Role role) {
    providers_[static_cast<std::size_t>(provider.id())] = &provider;
    players_[static_cast<std::size_t>(role)] = &provider;
  }
  // The same, and the set owns the provider.
  void adopt(std::unique_ptr<Provider> provider, Role role) noexcept {
    const ProviderId id = provider->id();
    add(*provider, role);
    owned_[static_cast<std::size_t>(id)] = std::move(provider);
  }
  // Null: not in this build.
  [[nodiscard]] Provider* find(ProviderId id) const noexcept {
    // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
    return providers_[static_cast<std::size_t>(id)];
  }
  // Null: no provider plays it.
  [[nodiscard]] Provider* player(Role role) const noexcept {
    // cppcheck-suppress CastIntegerToAddressAtReturn ; as above
    return players_[static_cast<std::size_t>(role)];
  }
  [[nodiscard]] std::optional<Role> role_of(ProviderId id) const noexcept {
    for (const Role role : kRoles) {
      if (player(role) != nullptr && player(role)->id() == id) return role;
    }
    return std::nullopt;
  }
  // A role without a player is always allowed.
  [[nodiscard]] bool allows(const Choice& choice, Role role) const noexcept {
    return player(role) == nullptr || choice.allows(player(role)->id());
  }

  // `shared_fd` as of Provider::register_memory. EINVAL: no such range.
  Result<MemoryKey> register_memory(std::span<std::byte> region, Access access, int shared_fd) {
    const auto start = reinterpret_cast<std::uintptr_t>(region.data());
    if (region.data() == nullptr || region.empty() || start + region.size() < start) return failure(EINVAL);
    // Relaxed: the counter orders nothing, its values only have to differ.
    MemoryKey key;
    while (key.value == 0) key.value = next_key_.fetch_add(1, std::memory_order_relaxed);
    // Of the first providers, those that know the region; the next one may refuse it, or lack memory.
    std::size_t count = 0;
    Undo undo([&] {
      while (count-- > 0)
        if (providers_[count] != nullptr) providers_[count]->deregister_memory(key);
    });
    for (; count < providers_.size(); ++count) {
      if (providers_[count] == nullptr) continue;
      const Status status = providers_[count]->register_memory(key, region, access, shared_fd);
      if (!status.ok()) return failure(status);
    }
    undo.cancel();
    return key;
  }
  void deregister_memory(MemoryKey key) noexcept {
    for (Provider* provider : providers_) {
      if (provider != nullptr) provider->deregister_memory(key);
    }
  }

  void before_fork() noexcept {
    for (Provider* provider : providers_) {
      if (provider != nullptr) provider->before_fork();
    }
  }
  void after_fork(ForkSide side) noexcept {
    for (Provider* provider : providers_) {
      if (provider != nullptr) provider->after_fork(side);
    }
  }

 private:
  std::array<Provider*, kProviderIds> providers_{};
  std::array<Provider*, kRoles.size()> players_{};
  std::array<std::unique_ptr<Provider>, kProviderIds> owned_{};
  std::atomic<std::uint32_t> next_key_{1};
};

}  // namespace exs
