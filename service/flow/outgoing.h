// The messages of one end of a flow that the other end has not accepted. They are kept in order and sent again when the link breaks. A
// pure state machine: each message is a slot, and the caller owns the bytes. Thread: one at a time.
//
// Design notes
//  1. Messages have no lasting numbers: the service reports how far it has accepted, and the kept messages are numbered from there. So
//     the two ends agree, whatever was lost between them.
//  2. A service that has restarted, or has forgotten the flow, does not know what it accepted before. Messages that had left for it are
//     dropped here with an unknown fate. The others are sent to the new instance.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/check.h"

namespace exs::svc {

// The outcome of a message that is no longer kept.
enum class Fate {
  kTaken,    // or refused, in its turn
  kUnknown,  // it had left, and may have been accepted or not
  kLost      // it has not left, and never will
};

class Outgoing {
 public:
  static constexpr std::size_t kMost = 64;  // messages that the other end has not accepted
  using Slot = std::uint32_t;

  [[nodiscard]] bool is_full() const noexcept { return frames_.size() >= kMost; }
  [[nodiscard]] bool is_empty() const noexcept { return frames_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return frames_.size(); }
  void add(Slot slot) { frames_.push_back({slot, false}); }
  // Puts these before all others. None of the others may have left.
  void add_before(std::span<const Slot> slots) {
    EXS_CHECK(sent_ == 0 && (frames_.empty() || !frames_.front().has_left));
    for (std::size_t i = slots.size(); i-- > 0;) frames_.push_front({slots[i], false});
  }
  // Continues a flow that has moved here. These messages had left, numbered from `first`, on a link that is gone.
  void resume(std::uint64_t instance, std::uint64_t first, std::span<const Slot> slots) {
    EXS_CHECK(frames_.empty() && !is_open_);
    for (const Slot slot : slots) frames_.push_back({slot, true});
    first_ = first;
    instance_ = instance;
  }
  // Removes a message that has never left. Returns false if it has left, or is not here.
  bool remove(Slot slot) {
    for (std::size_t i = sent_; i < frames_.size(); ++i) {
      if (frames_[i].slot != slot || frames_[i].has_left) continue;
      frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  // The message has left on the current link.
  [[nodiscard]] bool is_under_way(Slot slot) const noexcept {
    for (std::size_t i = 0; i < sent_; ++i)
      if (frames_[i].slot == slot) return true;
    return false;
  }

  // The next message to leave, and its number. Empty while the flow is closed, or the window of kMost messages is full.
  struct Next {
    Slot slot;
    std::uint64_t number;
  };
  [[nodiscard]] std::optional<Next> next() const noexcept {
    if (!is_open_ || sent_ == frames_.size() || sent_ >= kMost) return {};
    return Next{frames_[sent_].slot, first_ + sent_};
  }
  void left() noexcept {
    EXS_CHECK(is_open_ && sent_ < frames_.size() && sent_ < kMost);
    frames_[sent_++].has_left = true;
  }

  // The flow is open: the other end, in this life, has accepted all up to `accepted`. `is_known`: it knows the flow from before. `gone`
  // receives each dropped slot with its fate.
  enum class Opening { kProtocolError, kSameLife, kAnotherLife };
  template <class Gone>
  Opening open(std::uint64_t instance, std::uint64_t accepted, bool is_known, Gone gone) {
    const bool is_another = instance_ != 0 && (instance != instance_ || !is_known);
    if (!is_another && accepted >= first_ + count_that_left()) return Opening::kProtocolError;
    if (!is_another) drop_up_to(accepted, gone);
    // The same holds for a service that reports less than it did before. If messages were given up, none has left since.
    if (is_another || accepted + 1 < first_) forget_those_that_left(gone);
    first_ = accepted + 1;
    instance_ = instance;
    sent_ = 0;
    is_open_ = true;
    return is_another ? Opening::kAnotherLife : Opening::kSameLife;
  }
  // All up to `number` is accepted. Returns false if that is impossible.
  template <class Gone>
  bool accept(std::uint64_t number, Gone gone) {
    if (!is_open_ || number >= first_ + sent_) return false;
    drop_up_to(number, gone);
    return true;
  }
  // The service has closed and has accepted none of these.
  void take_back() noexcept {
    for (Frame& frame : frames_) frame.has_left = false;
    close();
  }
  // The link is gone.
  void close() noexcept {
    is_open_ = false;
    sent_ = 0;
  }
  // Drops all messages that are not under way on the current link.
  template <class Gone>
  void give_up_waiting(Gone gone) {
    while (frames_.size() > sent_) {
      const Frame last = frames_.back();
      frames_.pop_back();
      gone(last.slot, last.has_left ? Fate::kUnknown : Fate::kLost);
    }
  }
  // Drops all messages.
  template <class Gone>
  void give_up(Gone gone) {
    const std::size_t left = count_that_left();
    EXS_DEBUG_CHECK(sent_ <= left);
    while (!frames_.empty()) drop_first(frames_.front().has_left ? Fate::kUnknown : Fate::kLost, gone);
    first_ += left;
    close();
  }
  // The number of the first kept message, if it had left.
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  // The service's instance when the flow was last opened; 0: it never was.
  [[nodiscard]] std::uint64_t instance() const noexcept { return instance_; }
  template <class Visitor>
  void for_each(Visitor visitor) const {
    for (const Frame& frame : frames_) visitor(frame.slot);
  }

 private:
  struct Frame {
    Slot slot = 0;
    bool has_left = false;
  };

  // Messages that left come before those that did not.
  [[nodiscard]] std::size_t count_that_left() const noexcept {
    std::size_t count = 0;
    while (count < frames_.size() && frames_[count].has_left) ++count;
    return count;
  }
  template <class Gone>
  void drop_first(Fate fate, Gone gone) {
    const Slot slot = frames_.front().slot;
    frames_.pop_front();
    gone(slot, fate);
  }
  template <class Gone>
  void drop_up_to(std::uint64_t number, Gone gone) {
    while (!frames_.empty() && first_ <= number) {
      ++first_;
      if (sent_ > 0) --sent_;
      drop_first(Fate::kTaken, gone);
    }
  }
  template <class Gone>
  void forget_those_that_left(Gone gone) {
    for (std::size_t left = count_that_left(); left > 0; --left) drop_first(Fate::kUnknown, gone);
  }

  std::deque<Frame> frames_;
  std::uint64_t first_ = 1;  // number of the first kept message
  std::size_t sent_ = 0;     // of them, how many have left on the current link
  std::uint64_t instance_ = 0;
  bool is_open_ = false;
};

}  // namespace exs::svc
