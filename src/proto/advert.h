// The sender's half of a normal send: opens a window on the memory, tells the peer, and shuts the window when
// the peer has acknowledged.
#pragma once

#include <cstdint>

#include "src/base/fifo.h"
#include "src/proto/outbox.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class Adverts {
 public:
  Adverts(Link& link, Outbox& outbox) : link_(link), outbox_(outbox) {}

  // Opens the window an advert will name. Its error concerns this one operation (ENOTCONN: the link).
  Result<RemoteSlice> open_window(const LocalSlice& memory);
  // `operation_id`: given back by acknowledged(). On error the window is shut again.
  Status send(const RemoteSlice& window, std::uint32_t sequence, std::uint64_t operation_id);

  // Which operation this ACK ends. EPROTO: nothing outstanding, not the oldest one, more bytes than were
  // offered, or the peer still reads from the window.
  Result<std::uint64_t> acknowledged(const wire::Message& message);

  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.count(); }

 private:
  struct Outstanding {
    std::uint64_t operation_id = 0;
    std::uint64_t length_bytes = 0;
    std::uint32_t key = 0;
    std::uint32_t sequence = 0;
  };

  Link& link_;
  Outbox& outbox_;
  Fifo<Outstanding> outstanding_;
};

}  // namespace exs::proto
