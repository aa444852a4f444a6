// The sender's half of a normal send: opens a window on the memory, or one on each piece of it, advertises
// them, and closes them when the peer has acknowledged. An advert that the peer has not begun to read can be
// recalled: it leaves the order of those that wait for an ACK.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "base/fifo.h"
#include "src/proto/outbox.h"
#include "src/proto/windows.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class Adverts {
 public:
  Adverts(Link& link, Outbox& outbox) : link_(link), outbox_(outbox) {}

  // Opens the window an advert will name. Its error concerns this one operation (ENOTCONN: the link).
  Result<RemoteSlice> open_window(const LocalSlice& memory);
  // Likewise for memory in pieces, of which at most windows_max() are not empty.
  Result<Windows> open_windows(const Operation& operation) { return proto::open_windows(link_, operation); }

  // `operation_id`: given back by on_ack(). On error the windows are closed again.
  Status send(const RemoteSlice& window, std::uint32_t sequence, std::uint64_t operation_id);
  // Sends an advert for `operation`, which may name an offset.
  Status send(Windows windows, const Operation& operation, std::uint32_t sequence,
              std::uint64_t operation_id);

  struct Acknowledged {
    std::uint64_t operation_id = 0;
    std::uint64_t offered_bytes = 0;
  };
  // Returns what this ACK ends. EPROTO: no advert is outstanding, it is not for the oldest one, it claims
  // more bytes than were offered, its status does not fit, or the peer still reads from a window.
  Result<Acknowledged> on_ack(const wire::Message& message);

  // Asks the peer to return the advert of all `bytes` of an operation, which then ends with `error`. False:
  // there is no such advert, or the peer has reported its begin.
  bool recall(std::uint64_t operation_id, std::uint64_t bytes, int error);
  // Call it only if recall_is_due().
  Status send_recall();
  [[nodiscard]] bool recall_is_due() const noexcept {
    return recalls_due_ > 0 && !recall_sent_ && outbox_.has_room();
  }
  struct Recalled {
    std::uint64_t operation_id = 0;
    int error = 0;
  };
  // The advert that came back; none: the peer has begun with it. EPROTO: unasked, no advert that waits for an
  // ACK, or the peer reads from its windows.
  Result<std::optional<Recalled>> on_recall_ack(const wire::Message& message);
  // The peer has not answered yet.
  [[nodiscard]] bool recalling() const noexcept { return recall_sent_; }

  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.count(); }

 private:
  enum class Recall : std::uint8_t { kNone, kDue, kAsked, kDenied };
  struct Outstanding {
    std::uint64_t operation_id = 0;
    std::uint32_t sequence = 0;
    bool at_offset = false;
    Recall recall = Recall::kNone;
    int recall_error = 0;
    Windows windows;
  };

  Link& link_;
  Outbox& outbox_;
  Fifo<Outstanding> outstanding_;
  std::size_t recalls_due_ = 0;
  bool recall_sent_ = false;
  std::uint32_t recalled_sequence_ = 0;  // of the pending RECALL
};

// Most windows one advert may name where messages have slots of this size.
std::size_t windows_max(std::size_t slot_bytes);

}  // namespace exs::proto
