// The pre-posted receives of a connection: one piece of memory, cut into equal slots, each big enough for the
// longest message the peer may send.
//
// Design notes
//  1. Every message of an honest peer finds a slot. At most this many are under way or held at once:
//       receive_credits: data messages and NOTICEs, each with a credit;
//       send_credits: ACKs and CREDITs, each of which returns at least one credit of ours (an ACK that of its
//         advert), which is not spent, held or owed until the message has been received;
//       5 one-off messages: READY, SHUTDOWN for each direction, CLOSE, CLOSE_ACK;
//       12 of persistence, probing, recalling and growing: one OFFER (the next one follows our RELEASE); three REVOKEs, one of a
//         receive and two of a send (persistence/owned_window.h says why); two RELEASEs, one for each of our
//         windows (a window follows the RELEASE of the one before); PROBE and PROBE_ACK, RECALL and
//         RECALL_ACK, MORE and GRANT, one of each until it is answered.
//  2. A slot is posted again as soon as its message is decoded, before any answer to it is sent. Only an
//     immediate keeps its slot, until a receive has taken the payload, and an advert with a list of windows,
//     until a receive matches it.
//  3. Nothing here touches slot memory, and links prefer the slot posted last. So slots are address space
//     only, except for as many as have held a message at the same time. Most connections have one such slot, so the
//     slot posted last is a piece of the heap and takes no page. Long slots all lie in pages. Around a piece that
//     long, malloc would write into a page which nothing else uses, and messages with tags leave slots alone.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "src/proto/hello.h"
#include "src/provider/provider.h"

namespace exs::proto {

inline constexpr std::uint32_t kOneOffMessagesMax = 5;
inline constexpr std::uint32_t kPersistenceMessagesMax = 12;

std::uint32_t slot_count(const Agreement& agreement);
std::size_t slot_bytes(const Agreement& agreement);

// Thread: shard.
class Slots {
 public:
  Slots(const Agreement& agreement, Link& link);

  // ENOMEM, or what the link said.
  Status post_all();
  // Posts so many more. False: there is no memory, or the link takes no more; nothing has changed. Else what the link said.
  Result<bool> grow(std::uint32_t more);
  // `length_bytes` of the completion.
  [[nodiscard]] std::span<const std::byte> message(std::uint64_t slot, std::uint32_t length_bytes) const;
  // The slot's message is no longer needed. A link that broke meanwhile is no error here: the message still
  // counts, and the link reports the break itself.
  Status free(std::uint64_t slot);
  // The link has gone: freed slots are not posted any more, messages in slots stay readable.
  void retire() noexcept { retired_ = true; }

 private:
  Status post(std::uint64_t slot);
  [[nodiscard]] std::byte* start_of(std::uint64_t slot) const noexcept {
    if (slot >= first_count_) return start_of_added(slot);
    return last_ && slot + 1 == first_count_ ? last_.get() : memory_.start() + slot * slot_bytes_;
  }
  [[nodiscard]] std::byte* start_of_added(std::uint64_t slot) const noexcept;

  // Slots that have been added: those before `end` that are in no earlier one.
  struct Added {
    std::uint64_t end;
    Pages memory;
  };

  Link& link_;
  const std::uint32_t first_count_;
  std::uint32_t count_;
  const std::uint32_t slot_bytes_;
  bool retired_ = false;
  std::unique_ptr<std::vector<Added>> added_;  // null: none
  Pages memory_;                               // of the first slots but `last_`
  std::unique_ptr<std::byte[]> last_;          // null: slots are long
};

}  // namespace exs::proto
