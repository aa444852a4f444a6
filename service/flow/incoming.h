// How far one end of a flow has taken what the other sends. A message whose long items are still on their way holds up those behind
// it, which wait here. Thread: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "service/flow/outgoing.h"

namespace exs::svc {

// `Item` says is_whole() when all of it is here.
template <class Item>
class Incoming {
 public:
  enum class Place { kNext, kTakenBefore, kOutOfTurn };

  [[nodiscard]] Place place_of(std::uint64_t number) const noexcept {
    if (number <= accepted_) return Place::kTakenBefore;
    const bool is_next = number == accepted_ + waiting_.size() + 1;
    return is_next && waiting_.size() < Outgoing::kMost ? Place::kNext : Place::kOutOfTurn;
  }
  // The next one, which has nothing to wait for.
  void take() noexcept { ++accepted_; }
  [[nodiscard]] bool has_waiting() const noexcept { return !waiting_.empty(); }
  // The next one waits, for itself or for others. Its number.
  std::uint64_t wait(Item item) {
    waiting_.push_back(std::move(item));
    return accepted_ + waiting_.size();
  }
  // That waits, by its number.
  Item& waiting(std::uint64_t number) { return waiting_[static_cast<std::size_t>(number - accepted_ - 1)]; }
  template <class Visitor>
  void for_each_waiting(Visitor visitor) {
    for (Item& item : waiting_) visitor(item);
  }
  // Takes those that have nothing more to wait for, in their order.
  template <class Taker>
  void take_whole_ones(Taker taker) {
    while (!waiting_.empty() && waiting_.front().is_whole()) {
      Item item = std::move(waiting_.front());
      waiting_.pop_front();
      ++accepted_;
      taker(std::move(item));
    }
  }
  // The way is broken: they will come again.
  std::deque<Item> forget_waiting() { return std::exchange(waiting_, {}); }

  // A flow that comes from elsewhere.
  void resume(std::uint64_t accepted) noexcept { accepted_ = told_ = accepted; }

  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }
  // What the sender has not been told of.
  [[nodiscard]] bool owes_ack() const noexcept { return is_asked_ || told_ != accepted_; }
  void tell() noexcept {
    told_ = accepted_;
    is_asked_ = false;
  }
  // It has been told, and does not know.
  void be_asked() noexcept { is_asked_ = true; }

 private:
  std::uint64_t accepted_ = 0;
  std::uint64_t told_ = 0;
  bool is_asked_ = false;
  std::deque<Item> waiting_;
};

}  // namespace exs::svc
