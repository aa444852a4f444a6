// Long items under way in one direction: the memory that exs needs until its event. Thread: holder of the node's lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "exs/exs.h"

namespace exs::svc {

class Link;

// The target of an exs event; its handle points to one.
class EventTarget {
 public:
  virtual ~EventTarget() = default;
  virtual void take(const exs_event_t& event) = 0;
  // take() stopped for want of memory.
  virtual void out_of_memory() = 0;
};

class TransferClient {
 public:
  // Exs has released the memory. `is_whole`: all wanted bytes have arrived at their end.
  virtual void transfer_ended(std::uint64_t ticket, bool is_whole) = 0;

 protected:
  ~TransferClient() = default;
};

// The time for these bytes on the slowest network that is supported.
constexpr std::uint64_t slowest_ns(std::uint64_t bytes) noexcept {
  return static_cast<std::uint64_t>(bytes / 1024) * kNsPerMs;
}

class Transfer final : public EventTarget {
 public:
  using Pieces = std::vector<exs_iovec_t>;

  Transfer(Link& of, Pieces of_memory, TransferClient& for_client, std::uint64_t its_ticket,
           std::shared_ptr<void> memory)
      : link(of),
        pieces(std::move(of_memory)),
        client(&for_client),
        ticket(its_ticket),
        keeps(std::move(memory)) {
    header.msg_iov = pieces.data();
    header.msg_iovlen = static_cast<int>(pieces.size());
    for (const exs_iovec_t& piece : pieces) bytes += piece.iov_len;
  }
  void take(const exs_event_t& event) override;
  void out_of_memory() override {}  // take() has seen to it

  Link& link;
  Pieces pieces;
  exs_msghdr_t header{};
  std::size_t bytes = 0;
  bool is_receive = false;
  std::size_t parts = 1;   // operations of exs that are pending
  TransferClient* client;  // NULL: nobody waits for it any more
  const std::uint64_t ticket;
  const std::shared_ptr<void> keeps;  // owner of the memory of `pieces`, if that is the library's
};

}  // namespace exs::svc
