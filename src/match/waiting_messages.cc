// SPDX-License-Identifier: BSD-2-Clause
#include "src/match/waiting_messages.h"

namespace exs::match {

std::uint32_t WaitingMessages::add(const Envelope& envelope, void* user) {
  if (has_tables_)
    for (std::size_t i = 0; i < classes_.count(); ++i) classes_[i].table.reserve(1);
  const std::uint32_t number = entries_.take_number();
  try {
    order_links_.resize(entries_.size());
    for (std::size_t i = 0; i < classes_.count(); ++i) class_links_[i].resize(entries_.size());
  } catch (...) {
    entries_.give_back(number);
    throw;
  }
  entries_[number] = {envelope, user};
  order_.append(order_links_, number);
  ++size_;
  if (has_tables_)
    for (std::size_t i = 0; i < classes_.count(); ++i) enter(i, number);
  return number;
}

// Without memory for all tables none is used.
void WaitingMessages::use_tables() {
  for (std::size_t i = 0; i < classes_.count(); ++i) {
    classes_[i].table.clear();
    fill(i);
  }
  has_tables_ = true;
}

// All that wait go into the class's table, which is empty.
void WaitingMessages::fill(std::size_t index) {
  class_links_[index].resize(entries_.size());
  classes_[index].table.reserve(size_ + 1);
  for (std::uint32_t one = order_.first; one != kNone; one = order_links_[one].next) enter(index, one);
}

void WaitingMessages::enter(std::size_t index, std::uint32_t number) noexcept {
  classes_[index].table.append(key_of(index, number), class_links_[index], number);
}

std::uint32_t WaitingMessages::use_class(const Criteria& criteria) {
  const std::uint32_t known = classes_.find(criteria);
  if (known != kNone) return known;
  const std::uint32_t added = classes_.find_or_add(criteria);
  if (added == kNone || !has_tables_) return added;
  try {
    fill(added);
  } catch (...) {
    classes_.drop_last();
    throw;
  }
  return added;
}

std::uint32_t WaitingMessages::look_through(const Criteria& criteria, std::size_t& looks) const noexcept {
  for (std::uint32_t one = order_.first; one != kNone; one = order_links_[one].next, ++looks)
    if (criteria.fits(entries_[one].envelope)) return one;
  return kNone;
}

std::uint32_t WaitingMessages::find(const Criteria& criteria) {
  if (size_ == 0) return kNone;
  const std::uint32_t index = use_class(criteria);
  if (index == kNone || !has_tables_) {
    std::size_t looks = 0;
    const std::uint32_t number = look_through(criteria, looks);
    if (looks > kLookedThrough && !has_tables_) use_tables();
    return number;
  }
  const Class& its = classes_[index];
  return its.table.first(its.key_of(criteria.source, criteria.bits));
}

void* WaitingMessages::remove(std::uint32_t number) noexcept {
  order_.remove(order_links_, number);
  if (has_tables_)
    for (std::size_t i = 0; i < classes_.count(); ++i)
      classes_[i].table.remove(key_of(i, number), class_links_[i], number);
  if (--size_ == 0) has_tables_ = false;
  entries_.give_back(number);
  return entries_[number].user;
}

}  // namespace exs::match
