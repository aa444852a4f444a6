// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/sending.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/check.h"

namespace exs::svc {
namespace {

std::uint64_t count_of_writes(const Kept& kept) {
  return static_cast<std::uint64_t>(std::count_if(
      kept.longs.begin(), kept.longs.end(), [](const exs_iovec_t& piece) { return piece.iov_len > 0; }));
}

}  // namespace

std::optional<Sending::Slot> Sending::add(const Data& data, Transfer::Pieces longs, void* handle,
                                          std::vector<std::uint32_t> places) {
  FrameMemory& memory = owner_.memory();
  const std::optional<Slot> slot = memory.take();
  if (!slot) return {};
  Kept& kept = memory.kept(*slot);
  kept.length_bytes = static_cast<std::uint16_t>(encode_data(memory.room(*slot), 0, 0, data).size());
  kept.kind = data.kind;
  kept.call = data.call;
  kept.handle = handle;
  kept.longs = std::move(longs);
  kept.places = std::move(places);
  outgoing_.add(*slot);
  return slot;
}

Outgoing::Opening Sending::open(Link& link, std::uint32_t alias, std::uint64_t instance,
                                std::uint64_t accepted, bool is_known) {
  owner_.make_room_for_ends(count());
  const Outgoing::Opening opening = outgoing_.open(instance, accepted, is_known, ending());
  if (opening == Outgoing::Opening::kProtocolError) return opening;
  link_ = &link;
  alias_ = alias;
  return opening;
}

bool Sending::accept(std::uint64_t number) {
  owner_.make_room_for_ends(count());
  return outgoing_.accept(number, ending());
}

bool Sending::refused(std::uint64_t number, int error) {
  owner_.make_room_for_ends(count());
  return outgoing_.accept(number, [this, number, error](Slot slot, Fate fate) {
    if (outgoing_.first() == number + 1) owner_.memory().kept(slot).error = error;
    ended(slot, fate);
  });
}

void Sending::make_void(Slot slot) {
  Data nothing;
  nothing.kind = kIsVoid;
  replace(slot, nothing);
}

void Sending::replace(Slot slot, const Data& data) {
  FrameMemory& memory = owner_.memory();
  Kept& kept = memory.kept(slot);
  EXS_CHECK(!kept.is_moving);
  kept = Kept();
  kept.is_used = true;
  kept.kind = data.kind;
  kept.call = data.call;
  kept.length_bytes = static_cast<std::uint16_t>(encode_data(memory.room(slot), 0, 0, data).size());
}

std::vector<Bytes> Sending::frames() const {
  std::vector<Bytes> frames;
  FrameMemory& memory = owner_.memory();
  outgoing_.for_each(
      [&](Slot slot) { frames.push_back(Bytes(memory.room(slot)).first(memory.kept(slot).length_bytes)); });
  return frames;
}

bool Sending::resume(std::uint64_t instance, std::uint64_t first, std::span<const Bytes> frames) {
  FrameMemory& memory = owner_.memory();
  std::vector<Slot> slots;
  for (const Bytes frame : frames) {
    const std::optional<Slot> slot = memory.take();
    const std::optional<Header> header = decode_header(frame);
    const std::optional<Data> data = header ? decode_data(frame, *header) : std::nullopt;
    if (slot) slots.push_back(*slot);
    if (!slot || !data) {
      for (const Slot taken : slots) memory.give_back(taken);
      return false;
    }
    replace(*slot, *data);
  }
  outgoing_.resume(instance, first, slots);
  return true;
}

// Places are valid only on the link of their request.
void Sending::close() {
  outgoing_.for_each([this](Slot slot) {
    Kept& kept = owner_.memory().kept(slot);
    if (kept.places.empty()) return;
    kept.places.clear();
    set_lane_count(owner_.memory().room(slot), 0);
  });
  outgoing_.close();
  link_ = nullptr;
  lane_ = nullptr;
  lane_count_ = 0;
}

void Sending::give_up() {
  outgoing_.give_up(ending());
  link_ = nullptr;
}

void Sending::give_up_waiting() {
  outgoing_.give_up_waiting(ending());
}

bool Sending::send_all() {
  FrameMemory& memory = owner_.memory();
  while (link_ != nullptr) {
    const std::optional<Outgoing::Next> next = outgoing_.next();
    if (!next) return true;
    Kept& kept = memory.kept(next->slot);
    const bool by_lane = !kept.places.empty() && lane_ != nullptr;
    if (!kept.longs.empty() && !by_lane && !link_->has_bulk()) {
      link_->want_bulk();
      return true;
    }
    const std::span<std::uint8_t> frame = memory.room(next->slot).first(kept.length_bytes);
    renumber(frame, alias_, next->number, owner_.accepted());
    if (by_lane) set_lane_count(frame, lane_count_ + count_of_writes(kept));
    if (!link_->send_kept(frame, memory.region(next->slot))) return false;
    outgoing_.left();
    if (!kept.longs.empty()) send_longs(kept, next->slot, by_lane);
  }
  return true;
}

void Sending::send_longs(Kept& kept, Slot slot, bool by_lane) {
  EXS_CHECK(!kept.is_moving);
  try {
    if (by_lane) {
      lane_->write_longs(kept.longs, kept.places, *this, slot);
      lane_count_ += count_of_writes(kept);
    } else {
      link_->send_longs(kept.longs, *this, slot);
    }
    kept.is_moving = true;
    ++moving_;
  } catch (const std::bad_alloc&) {
    link_->end(ENOMEM);  // the frame has left without them
  }
}

void Sending::transfer_ended(std::uint64_t ticket, bool) {
  const auto slot = static_cast<Slot>(ticket);
  Kept& kept = owner_.memory().kept(slot);
  EXS_CHECK(kept.is_moving && moving_ > 0);
  kept.is_moving = false;
  --moving_;
  if (kept.fate) owner_.message_ended(slot, *kept.fate);
}

void Sending::ended(Slot slot, Fate fate) {
  Kept& kept = owner_.memory().kept(slot);
  kept.fate = fate;
  if (!kept.is_moving) owner_.message_ended(slot, fate);
}

}  // namespace exs::svc
