// Makes the events of transfers, from the operation and its outcome.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "exs/exs.h"
#include "src/proto/operation.h"

namespace exs {

// A plain transfer of one piece of registered memory, as the caller posted it.
struct ShortTransfer {
  std::byte* address = nullptr;
  std::size_t length_bytes = 0;
  exs_ahandle_t handle = nullptr;
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  bool no_event = false;
};
// The event of a short send that has left.
inline void make_sent_event(exs_event_t& event, int socket, const ShortTransfer& send) noexcept {
  event.exs_evt_type = EXS_EVT_SEND;
  event.exs_evt_errno = 0;
  event.exs_evt_flags = EXS_EVF_IMMEDIATE;
  event.exs_evt_socket = socket;
  event.exs_evt_ahandle = send.handle;
  exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  transfer.exs_evt_buf = send.address;
  transfer.exs_evt_bufsize = send.length_bytes;
  transfer.exs_evt_length = send.length_bytes;
  transfer.exs_evt_offset = 0;
  transfer.exs_evt_mhandle = send.region;
  transfer.exs_evt_count = 0;
}

// The event of a short receive that took what fitted of an immediate of so many bytes.
inline void make_received_event(exs_event_t& event, int socket, const proto::Operation& receive,
                                std::uint64_t payload_bytes) noexcept {
  const std::uint64_t room = receive.memory.length_bytes;
  const bool is_truncated = payload_bytes > room;
  const std::uint64_t taken = is_truncated ? room : payload_bytes;
  event.exs_evt_type = EXS_EVT_RECV;
  event.exs_evt_errno = 0;
  event.exs_evt_flags = EXS_EVF_IMMEDIATE | EXS_EVF_EOR | (taken > 0 ? EXS_EVF_COPIED : 0U) |
                        (is_truncated ? EXS_EVF_TRUNC : 0U);
  event.exs_evt_socket = socket;
  event.exs_evt_ahandle = receive.tag.handle;
  exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  transfer.exs_evt_buf = receive.memory.address;
  transfer.exs_evt_bufsize = room;
  transfer.exs_evt_length = taken;
  transfer.exs_evt_offset = is_truncated ? payload_bytes : 0;
  transfer.exs_evt_mhandle = static_cast<exs_mhandle_t>(receive.tag.memory_handle);
  transfer.exs_evt_count = 0;
}

// Writes all of `event`, where it is to stay: an event that is made elsewhere and copied at once stalls the processor.
void make_transfer_event(exs_event_t& event, int socket, proto::Direction direction,
                         const proto::Operation& operation, const proto::Outcome& outcome);
// The event that all notices of a persistent operation have in common. `operation`: before an attachment
// describes it.
exs_event_t use_event(int socket, proto::Direction direction, const proto::Operation& operation);

}  // namespace exs
