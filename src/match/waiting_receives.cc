// SPDX-License-Identifier: BSD-2-Clause
#include "src/match/waiting_receives.h"

#include <array>
#include <new>

namespace exs::match {

std::uint32_t WaitingReceives::add(const Criteria& criteria, void* user) {
  const std::uint32_t class_index = has_tables_ ? make_room(criteria) : kNone;
  const std::uint32_t number = entries_.take_number();
  if (order_links_.size() < entries_.size()) make_links(number);
  WaitingReceive& entry = entries_[number];  // each field by itself: a copy would have to wait for its parts
  entry.criteria.source = criteria.source;
  entry.criteria.bits = criteria.bits;
  entry.criteria.ignore = criteria.ignore;
  entry.sequence = next_sequence_++;
  entry.user = user;
  entry.class_index = kNone;
  order_.append(order_links_, number);
  ++size_;
  if (has_tables_) enter(number, class_index);
  return number;
}

// Without memory for all tables none is used.
void WaitingReceives::fill_tables() noexcept {
  std::array<std::size_t, kClassesMax> entries{};
  for (std::uint32_t one = order_.first; one != kNone; one = order_links_[one].next) {
    const std::uint32_t index = classes_.find_or_add(entries_[one].criteria);
    if (index != kNone) ++entries[index];
  }
  try {
    for (std::size_t i = 0; i < classes_.count(); ++i) classes_[i].table.reserve(entries[i]);
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::uint32_t one = order_.first; one != kNone; one = order_links_[one].next)
    enter(one, classes_.find(entries_[one].criteria));
  has_tables_ = true;
}

// Returns the number of the receive's class, with room for it in its table. kNone: the class has no table.
std::uint32_t WaitingReceives::make_room(const Criteria& criteria) {
  const std::uint32_t index = classes_.find_or_add(criteria);
  if (index != kNone) classes_[index].table.reserve(1);
  return index;
}

// For a number that is new.
void WaitingReceives::make_links(std::uint32_t number) {
  try {
    class_links_.resize(entries_.size());
    order_links_.resize(entries_.size());
  } catch (...) {
    entries_.give_back(number);
    throw;
  }
}

void WaitingReceives::enter(std::uint32_t number, std::uint32_t class_index) noexcept {
  WaitingReceive& entry = entries_[number];
  entry.class_index = class_index;
  if (entry.class_index == kNone) return others_.append(class_links_, number);
  Class& its = classes_[entry.class_index];
  its.table.append(key_of(entry), class_links_, number);
  ++its.entries;
}

void WaitingReceives::leave(std::uint32_t number) noexcept {
  const WaitingReceive& entry = entries_[number];
  if (entry.class_index == kNone) return others_.remove(class_links_, number);
  Class& its = classes_[entry.class_index];
  its.table.remove(key_of(entry), class_links_, number);
  --its.entries;
}

std::uint32_t WaitingReceives::look_through(const List& list, const Links& links, const Envelope& envelope,
                                            std::size_t& looks) const noexcept {
  for (std::uint32_t one = list.first; one != kNone; one = links[one].next, ++looks)
    if (entries_[one].criteria.fits(envelope)) return one;
  return kNone;
}

void* WaitingReceives::take_matching(const Envelope& envelope) noexcept {
  if (has_tables_) return take_from_tables(envelope);
  std::size_t looks = 0;
  const std::uint32_t number = look_through(order_, order_links_, envelope, looks);
  if (looks > kLookedThrough) fill_tables();
  return number == kNone ? nullptr : remove(number);
}

void* WaitingReceives::take_from_tables(const Envelope& envelope) noexcept {
  std::size_t looks = 0;
  std::uint32_t oldest = look_through(others_, class_links_, envelope, looks);
  Class* its = nullptr;
  std::size_t its_place = 0;
  for (std::size_t i = 0; i < classes_.count(); ++i) {
    Class& one = classes_[i];
    if (one.entries == 0) continue;
    const std::size_t place = one.table.find(one.key_of(envelope.source, envelope.bits));
    const std::uint32_t first = one.table.first_at(place);
    if (first == kNone) continue;
    if (oldest != kNone && entries_[oldest].sequence < entries_[first].sequence) continue;
    oldest = first;
    its = &one;
    its_place = place;
  }
  if (oldest == kNone) return nullptr;
  if (its == nullptr) {
    others_.remove(class_links_, oldest);
  } else {
    its->table.remove_at(its_place, class_links_, oldest);
    --its->entries;
  }
  return free(oldest);
}

void* WaitingReceives::remove(std::uint32_t number) noexcept {
  if (has_tables_) leave(number);
  return free(number);
}

// It must not be in a table any more.
void* WaitingReceives::free(std::uint32_t number) noexcept {
  order_.remove(order_links_, number);
  if (--size_ == 0) has_tables_ = false;
  entries_.give_back(number);
  return entries_[number].user;
}

}  // namespace exs::match
