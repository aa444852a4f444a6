// The receives and messages of an endpoint that are still unmatched.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "event/message/request.h"
#include "src/match/waiting_messages.h"
#include "src/match/waiting_receives.h"
#include "src/proto/connection.h"

namespace exs {

class Peer;

// A message without a matching receive.
struct Kept {
  Peer* from = nullptr;  // null: this process, or a peer that has gone
  std::uint32_t source = 0;
  proto::Arrival arrival;
  bool is_advert = false;
  std::uint32_t advert = 0;             // its payload is read from `from` under this number
  Request* send = nullptr;              // of this process: the payload is that of the send, which waits
  std::unique_ptr<std::byte[]> bytes;   // else
  std::uint32_t number = match::kNone;  // among those that wait; none: a matched probe has taken it
  exm_message_t taken = 0;
  std::size_t place = 0;  // of the mailbox

  [[nodiscard]] match::Envelope envelope() const noexcept { return {source, arrival.bits}; }
};

// Thread: shard.
class Mailbox {
 public:
  explicit Mailbox(std::uint64_t seed) : receives_(seed), messages_(seed) {}
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Removes the receive that matches this message. Null: no match.
  [[nodiscard]] Request* take_receive(const match::Envelope& envelope) noexcept;
  void add_receive(Request& request, const match::Criteria& criteria);
  void remove_receive(Request& request) noexcept;
  // A filter for all messages from `source` that some receive could match. nullopt: no receive could.
  [[nodiscard]] std::optional<proto::Wish> wanted_of(std::uint32_t source) const noexcept;

  // Throws std::bad_alloc, and nothing has changed.
  void keep(std::unique_ptr<Kept> message);
  // The oldest matching message. Null: no match.
  [[nodiscard]] Kept* find(const match::Criteria& criteria);
  // Removes the message from matching. The caller owns it.
  std::unique_ptr<Kept> remove(Kept& message) noexcept;
  // Removes the message from matching. Returns its number, by which find_apart() finds it.
  exm_message_t set_apart(Kept& message);
  // Null: there is no message of that number.
  [[nodiscard]] Kept* find_apart(exm_message_t number) noexcept;

  // Null: the mailbox is empty.
  [[nodiscard]] Kept* any() noexcept { return kept_.empty() ? nullptr : kept_.back().get(); }
  // Forgets messages whose payload is still at that peer. A message that a probe has taken stays, without a
  // source.
  void forget_adverts(const Peer& peer);

  [[nodiscard]] std::size_t receives() const noexcept { return receives_.size(); }
  [[nodiscard]] std::size_t messages() const noexcept { return kept_.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::unique_ptr<Kept> erase(Kept& message) noexcept;

  match::WaitingReceives receives_;
  match::WaitingMessages messages_;
  std::vector<std::unique_ptr<Kept>> kept_;  // in no order
  std::unordered_map<exm_message_t, Kept*> apart_;
  exm_message_t last_apart_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace exs
