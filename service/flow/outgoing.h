// The messages of one end of a flow that the other has not taken: kept, in order, to be sent again when the way there breaks. A pure
// state machine; the bytes themselves are the caller's, a slot each. Thread: one at a time.
//
// Design notes
//  1. Numbers are those of a connection's end: the service says how far it has taken, and what is kept follows from there. So the
//     two ends agree whatever was lost between them.
//  2. A service that has started again, or has forgotten the flow, does not know what it took before. What had left for it then is
//     forgotten here and told; what had not, or is known not to have been taken, is sent to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

namespace exs::svc {

// What has become of a message that is kept no longer.
enum class Fate {
  kTaken,    // or refused, in its turn
  kUnknown,  // it had left, and may have been taken or not
  kLost      // it has not left, and will not
};

class Outgoing {
 public:
  static constexpr std::size_t kMost = 64;  // that have not been taken
  using Slot = std::uint32_t;

  [[nodiscard]] bool is_full() const noexcept { return frames_.size() >= kMost; }
  [[nodiscard]] bool is_empty() const noexcept { return frames_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return frames_.size(); }
  void add(Slot slot) { frames_.push_back({slot, false}); }
  // Before all others, none of which has left.
  void add_before(std::span<const Slot> slots) {
    for (std::size_t i = slots.size(); i-- > 0;) frames_.push_front({slots[i], false});
  }
  // A flow that comes from elsewhere, where these had left, the first of them under this number, on a way that does not stand any more.
  void resume(std::uint64_t instance, std::uint64_t first, std::span<const Slot> slots) {
    for (const Slot slot : slots) frames_.push_back({slot, true});
    first_ = first;
    instance_ = instance;
  }
  // Takes one out that has never left. False: it has, or is not here.
  bool remove(Slot slot) {
    for (std::size_t i = sent_; i < frames_.size(); ++i) {
      if (frames_[i].slot != slot || frames_[i].has_left) continue;
      frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  // It has left on the way that stands.
  [[nodiscard]] bool is_under_way(Slot slot) const noexcept {
    for (std::size_t i = 0; i < sent_; ++i)
      if (frames_[i].slot == slot) return true;
    return false;
  }

  // The next one to leave, and its number; nothing while the flow is not open, or nothing may leave.
  struct Next {
    Slot slot;
    std::uint64_t number;
  };
  [[nodiscard]] std::optional<Next> next() const noexcept {
    if (!is_open_ || sent_ == frames_.size() || sent_ >= kMost) return {};
    return Next{frames_[sent_].slot, first_ + sent_};
  }
  void left() noexcept { frames_[sent_++].has_left = true; }

  // The flow stands: the other end, in this life, has taken all up to `accepted`. `is_known`: it knows the flow from before. `gone`
  // gets slots, and their fates.
  enum class Opening { kLie, kSameLife, kAnotherLife };
  template <class Gone>
  Opening open(std::uint64_t instance, std::uint64_t accepted, bool is_known, Gone gone) {
    const bool is_another = instance_ != 0 && (instance != instance_ || !is_known);
    if (!is_another && accepted >= first_ + count_that_left()) return Opening::kLie;
    if (!is_another) drop_up_to(accepted, gone);
    // Also who says that it has taken less than it said before. Where messages were given up nothing has left since.
    if (is_another || accepted + 1 < first_) forget_those_that_left(gone);
    first_ = accepted + 1;
    instance_ = instance;
    sent_ = 0;
    is_open_ = true;
    return is_another ? Opening::kAnotherLife : Opening::kSameLife;
  }
  // All up to `number` has been taken. False: it cannot have been.
  template <class Gone>
  bool accept(std::uint64_t number, Gone gone) {
    if (!is_open_ || number >= first_ + sent_) return false;
    drop_up_to(number, gone);
    return true;
  }
  // The service has ended, and has taken none of these.
  void take_back() noexcept {
    for (Frame& frame : frames_) frame.has_left = false;
    close();
  }
  // The way there is broken.
  void close() noexcept {
    is_open_ = false;
    sent_ = 0;
  }
  // All that is not on the way that stands is lost: none of it is sent on this way any more.
  template <class Gone>
  void give_up_waiting(Gone gone) {
    while (frames_.size() > sent_) {
      const Frame last = frames_.back();
      frames_.pop_back();
      gone(last.slot, last.has_left ? Fate::kUnknown : Fate::kLost);
    }
  }
  // All that is kept is lost.
  template <class Gone>
  void give_up(Gone gone) {
    const std::size_t left = count_that_left();
    while (!frames_.empty()) drop_first(frames_.front().has_left ? Fate::kUnknown : Fate::kLost, gone);
    first_ += left;
    close();
  }
  // The number of the first of them, if it had left.
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  // Of the life that the flow was last opened in; 0: none.
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

  // They are the first ones.
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
  std::uint64_t first_ = 1;  // number of the first of them
  std::size_t sent_ = 0;     // of them, on the way that stands
  std::uint64_t instance_ = 0;
  bool is_open_ = false;
};

}  // namespace exs::svc
