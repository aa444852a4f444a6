// Long items under way, in one direction: what exs needs until its event. Thread: holder of the node's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exs/exs.h"
#include "service/names/clock.h"

namespace exs::svc {

class Link;

// What the events of exs are for: their handles are these.
class EventTarget {
 public:
  virtual ~EventTarget() = default;
  virtual void take(const exs_event_t& event) = 0;
  // take() was left for want of memory.
  virtual void out_of_memory() = 0;
};

class TransferClient {
 public:
  // exs has let go of the memory. `is_whole`: all bytes have arrived, here or there, as far as they were wanted.
  virtual void transfer_ended(std::uint64_t ticket, bool is_whole) = 0;

 protected:
  ~TransferClient() = default;
};

// How long these bytes take by the slowest network that there is.
constexpr std::int64_t slowest_ns(std::uint64_t bytes) noexcept {
  return static_cast<std::int64_t>(bytes / 1024) * kNsPerMs;
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
  void out_of_memory() override;

  Link& link;
  Pieces pieces;
  exs_msghdr_t header{};
  std::size_t bytes = 0;
  bool is_receive = false;
  std::size_t parts = 1;   // operations of exs that have not ended
  TransferClient* client;  // NULL: nobody cares any more
  const std::uint64_t ticket;
  const std::shared_ptr<void> keeps;  // the memory of `pieces`, where that is ours
};

}  // namespace exs::svc
