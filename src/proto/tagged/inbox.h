// The destination of one peer's tagged messages. The owner of the receives finds the receive that takes each.
// Called under the drive lock; must not call back into the connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/proto/operation.h"
#include "src/proto/tagged/wish.h"

namespace exs::proto {

// A message's properties at its arrival.
struct Arrival {
  std::uint64_t bits = 0;
  std::uint64_t data = 0;
  bool has_data = false;
  std::uint64_t length_bytes = 0;
  std::uint32_t id = 0;    // not 0: its sender waits for an answer
  std::uint32_t cost = 0;  // of the window of the peer, until it is taken
};

class Inbox {
 public:
  // The payload lies in `message` from `offset` on. True: a receive has taken it. False: it is kept; when it has been taken or dropped
  // Connection::finish_kept() is called. Throws std::bad_alloc, and nothing has changed.
  virtual bool take(const Arrival& arrival, const ArrivingMessage& message, std::size_t offset) = 0;
  // Announces a message whose payload must be read. Returns the receive that takes it, valid until the next
  // call. Null: it is kept under the number `advert`, until Connection::read_kept() or refuse_kept(). Throws
  // std::bad_alloc without any change.
  virtual const Operation* announce(const Arrival& arrival, std::uint32_t advert) = 0;
  // So many adverts are kept that the peer holds back the rest of its messages; false: no longer.
  virtual void filled(bool is_full) noexcept = 0;
  // A filter for all messages that some waiting receive could take. nullopt: no receive waits.
  [[nodiscard]] virtual std::optional<Wish> wanted() const noexcept = 0;

 protected:
  ~Inbox() = default;
};

}  // namespace exs::proto
