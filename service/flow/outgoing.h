// The messages of a flow that its service has not taken: kept, in order, to be sent again when the way there breaks. A pure state
// machine; the bytes themselves are the caller's, a slot each. Thread: one at a time.
//
// Design notes
//  1. Numbers are those of a connection's end: the service says how far it has taken, and what is kept follows from there. So the
//     two ends agree whatever was lost between them.
//  2. A service that has started again, or has forgotten the flow, does not know what it took before. What had left for it then is forgotten here and told;
//     what had not, or is known not to have been taken, is sent to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace exs::svc {

class Outgoing {
 public:
  static constexpr std::size_t kMost = 64;
  using Slot = std::uint32_t;

  struct Frame {
    Slot slot = 0;
    bool has_left = false;
  };

  [[nodiscard]] bool is_full() const noexcept { return frames_.size() == kMost; }
  [[nodiscard]] bool is_empty() const noexcept { return frames_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return frames_.size(); }
  void add(Slot slot) { frames_.push_back({slot, false}); }

  // The next one to leave, and its number; nothing while the flow is not open or all have left.
  struct Next {
    Slot slot;
    std::uint64_t number;
  };
  [[nodiscard]] std::optional<Next> next() const noexcept {
    if (!is_open_ || sent_ == frames_.size()) return {};
    return Next{frames_[sent_].slot, first_ + sent_};
  }
  void left() noexcept { frames_[sent_++].has_left = true; }

  // The flow stands: the service, in this life, has taken all up to `accepted`. Returns how many messages may be lost; nothing if no
  // service can have taken as many. `free` gets the slots that are not needed any more.
  template <class Free>
  std::optional<std::size_t> open(std::uint64_t instance, std::uint64_t accepted, Free free) {
    std::size_t lost = 0;
    const bool is_another = instance_ != 0 && instance != instance_;
    if (!is_another && accepted >= first_ + count_that_left()) return {};
    if (!is_another) drop_up_to(accepted, free);
    // Also where a service has forgotten the flow, which was away for long. Where messages were given up nothing has left since.
    if (is_another || accepted + 1 < first_) lost = forget_those_that_left(free);
    first_ = accepted + 1;
    instance_ = instance;
    sent_ = 0;
    is_open_ = true;
    return lost;
  }
  // The service has taken all up to `number`. False: it cannot have.
  template <class Free>
  bool accept(std::uint64_t number, Free free) {
    if (!is_open_ || number >= first_ + sent_) return false;
    drop_up_to(number, free);
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
  // All that is kept is lost. Returns how many that are.
  template <class Free>
  std::size_t give_up(Free free) {
    const std::size_t lost = frames_.size();
    const std::size_t left = count_that_left();
    for (const Frame& frame : frames_) free(frame.slot);
    frames_.clear();
    first_ += left;
    close();
    return lost;
  }

 private:
  // They are the first ones.
  [[nodiscard]] std::size_t count_that_left() const noexcept {
    std::size_t count = 0;
    while (count < frames_.size() && frames_[count].has_left) ++count;
    return count;
  }
  template <class Free>
  void drop_up_to(std::uint64_t number, Free free) {
    while (!frames_.empty() && first_ <= number) {
      free(frames_.front().slot);
      frames_.pop_front();
      ++first_;
      if (sent_ > 0) --sent_;
    }
  }
  template <class Free>
  std::size_t forget_those_that_left(Free free) {
    const std::size_t left = count_that_left();
    for (std::size_t i = 0; i < left; ++i) {
      free(frames_.front().slot);
      frames_.pop_front();
    }
    return left;
  }

  std::deque<Frame> frames_;
  std::uint64_t first_ = 1;  // number of the first of them
  std::size_t sent_ = 0;     // of them, on the way that stands
  std::uint64_t instance_ = 0;
  bool is_open_ = false;
};

}  // namespace exs::svc
