// The sender's half of a normal send: opens a window on the memory, or one on each piece of it, advertises
// them, and closes them when the peer has acknowledged.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/fifo.h"
#include "src/proto/outbox.h"
#include "src/wire/messages.h"

namespace exs::proto {

// What one advert names: nearly always a single window.
struct Windows {
  RemoteSlice first;
  std::vector<RemoteSlice> more;
  std::uint64_t length_bytes = 0;  // of all
};

// Thread: shard.
class Adverts {
 public:
  Adverts(Link& link, Outbox& outbox) : link_(link), outbox_(outbox) {}

  // Opens the window an advert will name. Its error concerns this one operation (ENOTCONN: the link).
  Result<RemoteSlice> open_window(const LocalSlice& memory);
  // The same for memory in pieces that are not empty, at most windows_max().
  Result<Windows> open_windows(const Operation& operation);

  // `operation_id`: given back by on_ack(). On error the windows are closed again.
  Status send(const RemoteSlice& window, std::uint32_t sequence, std::uint64_t operation_id);
  // For `operation`, which may name an offset.
  Status send(Windows windows, const Operation& operation, std::uint32_t sequence,
              std::uint64_t operation_id);

  // Which operation this ACK ends. EPROTO: nothing outstanding, not the oldest one, more bytes than were
  // offered, a status that answers something else, or the peer still reads from a window.
  Result<std::uint64_t> on_ack(const wire::Message& message);

  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.count(); }

 private:
  struct Outstanding {
    std::uint64_t operation_id = 0;
    std::uint32_t sequence = 0;
    bool at_offset = false;
    Windows windows;
  };

  Status close_windows(const Windows& windows);

  Link& link_;
  Outbox& outbox_;
  Fifo<Outstanding> outstanding_;
};

// Most windows one advert may name where messages have slots of this size.
std::size_t windows_max(std::size_t slot_bytes);

}  // namespace exs::proto
