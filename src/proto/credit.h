// Credits: how many data messages may be under way, counted for both directions of one connection.
//
// Design notes
//  1. ADVERT, IMMEDIATE and NOTICE spend one credit. It comes back when the transfer is over. That of an advert
//     comes no earlier than its ACK, that of an immediate once its slot is free again. That of a notice, and of
//     an advert that became an active window, comes at once. At every moment, per direction,
//         available at the sender + data messages in flight + held by the receiver + owed by the receiver +
//         returns in flight = the number agreed, and granted since (credit_growth.h).
//  2. Owed credits travel on whatever message is sent. A CREDIT message is sent only when at least half are
//     owed and nothing else was sent: otherwise a one-way stream would cost a CREDIT per message. If less
//     than half are owed while the peer has none, some are held, and those become owed as the application
//     receives. So the half is always reached, and no sender waits for ever.
//  3. While a persistent receive is active, credits come back at once: the peer starts to write only when it
//     has all of them, which proves that its earlier messages have been put where they belong.
//  4. No other message spends a credit: if an ACK or a CREDIT had to wait for one, two full sides would wait
//     for each other. Their slots are reserved beside those of data messages (slots.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/status.h"

namespace exs::proto {

// Thread: shard.
class Credits {
 public:
  Credits(std::uint32_t send_credits, std::uint32_t receive_credits)
      : send_total_(send_credits),
        receive_total_(receive_credits),
        available_(send_credits),
        peer_available_(receive_credits) {}

  // Our sends.
  [[nodiscard]] std::uint32_t available() const noexcept { return available_; }
  void spend() noexcept { --available_; }
  // EPROTO: more than were spent.
  Status take_back(std::uint32_t returned);
  // Requires may_take_back().
  void add_back(std::uint32_t returned) noexcept { available_ += returned; }
  [[nodiscard]] bool may_take_back(std::uint32_t returned) const noexcept {
    return returned <= send_total_ - available_;
  }

  // The peer's sends. EPROTO: it had no credit.
  Status data_arrived();
  [[nodiscard]] bool peer_has_one() const noexcept { return peer_available_ > 0; }
  void owe() noexcept { ++owed_; }
  // A data message that is done with as it arrives. The peer had a credit.
  void pass_through() noexcept {
    --peer_available_;
    ++owed_;
  }
  [[nodiscard]] std::uint32_t owed() const noexcept { return owed_; }
  void returned(std::uint32_t credits) noexcept {
    owed_ -= credits;
    peer_available_ += credits;
  }
  [[nodiscard]] bool return_is_due() const noexcept { return owed_ > 0 && 2 * owed_ >= receive_total_; }

  [[nodiscard]] std::uint32_t send_total() const noexcept { return send_total_; }
  [[nodiscard]] std::uint32_t receive_total() const noexcept { return receive_total_; }
  // More than agreed, see credit_growth.h.
  void add_sends(std::uint32_t granted) noexcept {
    send_total_ += granted;
    available_ += granted;
  }
  void add_receives(std::uint32_t granted) noexcept {
    receive_total_ += granted;
    peer_available_ += granted;
  }

 private:
  std::uint32_t send_total_;
  std::uint32_t receive_total_;
  std::uint32_t available_;
  std::uint32_t peer_available_;  // the peer's credits and those on their way to it
  std::uint32_t owed_ = 0;
};

}  // namespace exs::proto
