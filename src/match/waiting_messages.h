// Messages that no receive was there for. A receive gets the oldest one that fits it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/numbered_pool.h"
#include "src/match/classes.h"

namespace exs::match {

// Design notes
//  1. A message lies in the table of every class that receives have used, so each of them finds its oldest by one look. The first
//     receive of a new class enters all that wait there, once.
//  2. Tables are filled when a receive has passed too many messages, and left when the last message is gone.
// Thread: one at a time.
class WaitingMessages {
 public:
  explicit WaitingMessages(std::uint64_t seed) noexcept : classes_(seed) {}

  // Its number, until it is taken or removed. Throws std::bad_alloc, and nothing has changed.
  std::uint32_t add(const Envelope& envelope, void* user);
  // Returns the number of the oldest match. kNone: no match. Throws std::bad_alloc without any change.
  std::uint32_t find(const Criteria& criteria);
  // Removes it and returns its user.
  void* remove(std::uint32_t number) noexcept;
  [[nodiscard]] const Envelope& envelope(std::uint32_t number) const noexcept {
    return entries_[number].envelope;
  }
  [[nodiscard]] void* user(std::uint32_t number) const noexcept { return entries_[number].user; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct WaitingMessage {
    Envelope envelope;
    void* user = nullptr;
  };

  void use_tables();
  std::uint32_t use_class(const Criteria& criteria);
  void fill(std::size_t index);
  void enter(std::size_t index, std::uint32_t number) noexcept;
  [[nodiscard]] Key key_of(std::size_t index, std::uint32_t number) const noexcept {
    const Envelope& envelope = entries_[number].envelope;
    return classes_[index].key_of(envelope.source, envelope.bits);
  }
  [[nodiscard]] std::uint32_t look_through(const Criteria& criteria, std::size_t& looks) const noexcept;

  Classes classes_;
  NumberedPool<WaitingMessage> entries_;
  Links order_links_;
  List order_;                                  // all of them
  std::array<Links, kClassesMax> class_links_;  // for the lists of each class's table
  std::size_t size_ = 0;
  bool has_tables_ = false;
};

}  // namespace exs::match
