// The receivers of completions of a shard's links and listeners, by token.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/room.h"
#include "src/provider/provider.h"

namespace exs {

// Receives the completions of one link or listener. Thread: shard.
class CompletionClient {
 public:
  virtual ~CompletionClient() = default;
  virtual void complete(const Completion& completion) = 0;
};

// A token consists of the client's slot and a number that makes it unique. Thread: shard.
class ClientTable {
 public:
  // Holds the client until it is removed, for which there is memory then. No token is given twice, and none is 0.
  [[nodiscard]] std::uint64_t add(std::shared_ptr<CompletionClient> client) {
    if (free_slots_.empty()) add_slot();
    make_room(removed_, removed_.size() + slots_.size());
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    const std::uint64_t token = next_serial_++ << kSlotBits | slot;
    slots_[slot] = {token, std::move(client)};
    return token;
  }
  // The client lives until destroy_removed(), because it may be what removes itself. 0: there is nothing to remove.
  void remove(std::uint64_t token) {
    ClientSlot* const found = slot_of(token);
    if (found == nullptr) return;
    removed_.push_back(std::move(found->client));
    *found = {};
    free_slots_.push_back(static_cast<std::uint32_t>(found - slots_.data()));
  }
  // Null: the client has been removed. It lives at least until destroy_removed().
  [[nodiscard]] CompletionClient* find(std::uint64_t token) {
    const ClientSlot* const found = slot_of(token);
    return found == nullptr ? nullptr : found->client.get();
  }
  void destroy_removed() { removed_.clear(); }
  [[nodiscard]] bool has_removed() const noexcept { return !removed_.empty(); }
  // At least the number of clients.
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
  void destroy_all() {
    slots_.clear();
    removed_.clear();
  }

 private:
  struct ClientSlot {
    std::uint64_t token = 0;
    std::shared_ptr<CompletionClient> client;
  };
  // More clients than a process can have descriptors. The other bits of a token never wrap around.
  static constexpr int kSlotBits = 24;

  void add_slot() {
    make_room(free_slots_, slots_.size() + 1);
    slots_.emplace_back();
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }

  ClientSlot* slot_of(std::uint64_t token) {
    const std::uint64_t slot = token & ((std::uint64_t{1} << kSlotBits) - 1);
    const bool is_there = token != 0 && slot < slots_.size() && slots_[slot].token == token;
    return is_there ? &slots_[slot] : nullptr;
  }

  std::vector<ClientSlot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t next_serial_ = 1;
  std::vector<std::shared_ptr<CompletionClient>> removed_;
};

}  // namespace exs
