// Receives that no message has come for. A message gets the oldest one that it fits.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/numbered_pool.h"
#include "src/match/classes.h"

namespace exs::match {

// Design notes
//  1. A receive lies in the table of its class. A message asks each class that has receives, and takes the oldest of at most
//     eight answers, whatever their wildcards.
//  2. A message of most programs fits one of the oldest receives, however many wait, and needs no table. Tables are filled when a
//     message has passed too many, and left when the last receive is gone.
// Thread: one at a time.
class WaitingReceives {
 public:
  explicit WaitingReceives(std::uint64_t seed) noexcept : classes_(seed) {}

  // Its number, until it is taken or removed. Throws std::bad_alloc, and nothing has changed.
  std::uint32_t add(const Criteria& criteria, void* user);
  // Removes the oldest receive that takes the message, and returns its user. Null: no match.
  void* take_matching(const Envelope& envelope) noexcept;
  void* remove(std::uint32_t number) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Visits the criteria of each receive, the oldest first.
  template <typename Visit>
  void visit(Visit&& visit) const {
    for (std::uint32_t number = order_.first; number != kNone; number = order_links_[number].next)
      visit(entries_[number].criteria);
  }

 private:
  struct WaitingReceive {
    Criteria criteria;
    std::uint64_t sequence = 0;
    void* user = nullptr;
    std::uint32_t class_index = kNone;  // kNone: of a class that has no table
  };

  void fill_tables() noexcept;
  void make_links(std::uint32_t number);
  std::uint32_t make_room(const Criteria& criteria);
  void enter(std::uint32_t number, std::uint32_t class_index) noexcept;
  void leave(std::uint32_t number) noexcept;
  [[nodiscard]] Key key_of(const WaitingReceive& entry) const noexcept {
    return classes_[entry.class_index].key_of(entry.criteria.source, entry.criteria.bits);
  }
  // Counts the receives that the message passes.
  [[nodiscard]] std::uint32_t look_through(const List& list, const Links& links, const Envelope& envelope,
                                           std::size_t& looks) const noexcept;
  void* take_from_tables(const Envelope& envelope) noexcept;
  void* free(std::uint32_t number) noexcept;

  Classes classes_;
  NumberedPool<WaitingReceive> entries_;
  Links order_links_;
  Links class_links_;
  List order_;   // all of them
  List others_;  // those of classes without a table
  std::uint64_t next_sequence_ = 0;
  std::size_t size_ = 0;
  bool has_tables_ = false;
};

}  // namespace exs::match
