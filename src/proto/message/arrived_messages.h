// The data messages of the peer, from their arrival until a receive matches them or they are refused. Checks
// that each one may come, and gives its slot and its credit back when it is done with.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/fifo.h"
#include "src/proto/credit.h"
#include "src/proto/hello.h"
#include "src/proto/short_path.h"
#include "src/proto/slots.h"
#include "src/wire/messages.h"

namespace exs::proto {

// The source of a message's bytes.
enum class MessageSource : std::uint8_t {
  kNothing,
  kAdvert,
  kImmediate,
  kWindow,   // the active window of the peer's persistent send
  kRevoked,  // a window that the peer took back while no receive was reading it
};

struct ArrivedMessage {
  MessageSource source = MessageSource::kNothing;
  bool at_offset = false;  // kAdvert
  bool busy = false;       // kAdvert: a persistent one that met our persistent receive
  std::uint32_t sequence = 0;
  RemoteSlice window;               // kAdvert: the first
  std::uint64_t length_bytes = 0;   // kAdvert: of all windows; kImmediate: of the payload
  std::uint64_t target_offset = 0;  // kAdvert, at_offset
  std::uint64_t slot = 0;           // of kImmediate, and of kAdvert with a list
  std::uint32_t message_bytes = 0;
  std::uint32_t list_bytes = 0;
};

// Thread: shard.
class ArrivedMessages {
 public:
  ArrivedMessages(Slots& slots, ShortPath& path) : slots_(slots), path_(path) {}

  // EPROTO: no credit, wrong sequence, longer than agreed.
  Status admit(const wire::Message& message);
  // Keep a message that was admitted behind those that wait. `source` of an advert: kAdvert or kWindow.
  void keep_immediate(std::uint64_t slot, std::uint32_t message_bytes);
  Status keep_advert(const wire::Message& message, MessageSource source, bool busy, std::uint64_t slot,
                     std::uint32_t message_bytes);
  // The peer revoked its window, which is the last to wait. It becomes a mark, unless a receive shows it
  // already.
  void revoke_window(bool shown);

  // Removes the advert with this number. False: it does not wait here any more. EPROTO: it never came.
  Result<bool> recall(std::uint32_t sequence);

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return waiting_.count(); }
  [[nodiscard]] const ArrivedMessage& front() { return waiting_.front(); }
  // The bytes of the first message that a plain receive can take; 0: there is none.
  [[nodiscard]] std::uint64_t next_bytes() const noexcept;
  ArrivedMessage pop_front() { return waiting_.pop_front(); }
  void clear() { waiting_.clear(); }

  // Header and payload of the message in a slot; the further windows of an advert.
  [[nodiscard]] std::span<const std::byte> bytes_in(std::uint64_t slot, std::uint32_t message_bytes) const {
    return slots_.message(slot, message_bytes);
  }
  [[nodiscard]] std::span<const std::byte> list_of(const ArrivedMessage& advert) const {
    if (advert.list_bytes == 0) return {};
    return slots_.message(advert.slot, advert.message_bytes).last(advert.list_bytes);
  }
  // The payload has been taken or dropped: of an immediate that was kept, and of one that was not.
  Status free_immediate(const ArrivedMessage& immediate);
  Status free_unkept_immediate(std::uint64_t slot);
  // The list has been read.
  Status free_list(const ArrivedMessage& advert) {
    return advert.list_bytes > 0 ? slots_.free(advert.slot) : Status();
  }
  // Call it before the ACK of an advert is sent. Its credit must not overtake the ACK, because the peer has
  // slots for one ACK per credit.
  void return_advert_credit() noexcept {
    path_.credits.owe();
    --adverts_held_;
  }

  // Adverts that have had no ACK yet.
  [[nodiscard]] std::size_t adverts_held() const noexcept { return adverts_held_; }
  [[nodiscard]] std::size_t immediates_held() const noexcept { return immediates_held_; }

 private:
  Slots& slots_;
  ShortPath& path_;
  Fifo<ArrivedMessage> waiting_;
  std::size_t adverts_held_ = 0;
  std::size_t immediates_held_ = 0;
};

}  // namespace exs::proto
