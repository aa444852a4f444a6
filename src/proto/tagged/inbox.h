// Where the messages of one peer go that come with tags: whoever keeps the receives finds the one that takes each. Called under the
// drive lock; must not call back into the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/proto/operation.h"
#include "src/proto/tagged/wish.h"

namespace exs::proto {

// What is known of a message at its arrival.
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
  // One whose payload is to be read. The receive that takes it, good until the next call; null: it is kept under the number `advert`,
  // until Connection::read_kept() or refuse_kept(). Throws std::bad_alloc, and nothing has changed.
  virtual const Operation* announce(const Arrival& arrival, std::uint32_t advert) = 0;
  // So many adverts are kept that the peer holds back what it has more, or no longer.
  virtual void filled(bool is_full) noexcept = 0;
  // What the receives that wait would take between them. Nothing: there are none.
  [[nodiscard]] virtual std::optional<Wish> wanted() const noexcept = 0;

 protected:
  ~Inbox() = default;
};

}  // namespace exs::proto
