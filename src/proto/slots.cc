// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/slots.h"
#include "base/check.h"
#include "base/room.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/log/log.h"
#include "src/proto/token.h"
#include "src/wire/messages.h"

namespace exs::proto {
namespace {

constexpr std::size_t kHeapBytesMax = 2048;

}  // namespace

std::uint32_t slot_count(const Agreement& agreement) {
  return agreement.receive_credits + agreement.send_credits + kOneOffMessagesMax + kPersistenceMessagesMax;
}

std::size_t slot_bytes(const Agreement& agreement) {
  constexpr std::size_t kAlignment = 8;
  const std::size_t longest = std::max(wire::kLongestFixedBytes, wire::kHeaderBytes + agreement.small_bytes);
  return (longest + kAlignment - 1) / kAlignment * kAlignment;
}

LinkDepths link_depths(const Agreement& agreement) {
  // The peer's slots mirror ours, so as many messages as we have slots is also the most that can be of use.
  return {.sends = slot_count(agreement),
          .receives = slot_count(agreement),
          .reads_out = agreement.reads_out,
          .reads_in = agreement.reads_in,
          .message_bytes = static_cast<std::uint32_t>(slot_bytes(agreement))};
}

Slots::Slots(const Agreement& agreement, Link& link)
    : link_(link),
      first_count_(slot_count(agreement)),
      count_(first_count_),
      slot_bytes_(static_cast<std::uint32_t>(slot_bytes(agreement))) {}

Status Slots::post_all() {
  if (slot_bytes_ <= kHeapBytesMax) last_.reset(new std::byte[slot_bytes_]);  // untouched
  Result<Pages> memory = Pages::map(std::size_t{count_ - (last_ ? 1U : 0U)} * slot_bytes_);
  if (!memory) {
    log(LogLevel::kError,
        "no memory for the {} receive slots of a connection: {} (limits of the process, vm.max_map_count?)",
        count_, std::strerror(memory.error().error()));
    return memory.error();
  }
  memory_ = std::move(*memory);
  for (std::uint64_t slot = 0; slot < count_; ++slot) {
    if (const Status status = post(slot); !status.ok()) return status;
  }
  return {};
}

Result<bool> Slots::grow(std::uint32_t more) {
  Result<Pages> memory = Pages::map(std::size_t{more} * slot_bytes_);
  if (!memory) return false;
  if (!added_) added_ = std::make_unique<std::vector<Added>>();
  make_room(*added_, added_->size() + 1);
  if (!link_.grow_receives(more)) return false;
  const std::uint64_t first = count_;
  count_ += more;
  added_->push_back({count_, std::move(*memory)});
  for (std::uint64_t slot = first; slot < count_; ++slot) {
    if (const Status status = post(slot); !status.ok()) return failure(status);
  }
  return true;
}

std::byte* Slots::start_of_added(std::uint64_t slot) const noexcept {
  std::uint64_t first = first_count_;
  for (const Added& added : *added_) {
    if (slot < added.end) return added.memory.start() + (slot - first) * slot_bytes_;
    first = added.end;
  }
  return nullptr;  // message() and post() know better
}

Status Slots::post(std::uint64_t slot) {
  return link_.post_recv({start_of(slot), slot_bytes_, {}}, make_token(PostKind::kSlot, slot));
}

std::span<const std::byte> Slots::message(std::uint64_t slot, std::uint32_t length_bytes) const {
  EXS_CHECK(slot < count_ && length_bytes <= slot_bytes_);
  return {start_of(slot), length_bytes};
}

Status Slots::free(std::uint64_t slot) {
  if (retired_) return {};
  const Status status = post(slot);
  if (status.error() != ENOTCONN) return status;
  retire();
  return {};
}

}  // namespace exs::proto
