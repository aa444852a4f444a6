// How far one end of a flow has accepted the messages of the other. A message whose long items are still moving delays those behind it;
// they wait here. Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/undo.h"
#include "service/flow/outgoing.h"

namespace exs::svc {

// `Item` has is_whole(), which is true once all of the message is here.
template <class Item>
class Incoming {
 public:
  enum class MessageTurn { kNext, kTakenBefore, kOutOfTurn };

  [[nodiscard]] MessageTurn turn_of(std::uint64_t number) const noexcept {
    if (number <= accepted_) return MessageTurn::kTakenBefore;
    const bool is_next = number == accepted_ + waiting_.size() + 1;
    return is_next && waiting_.size() < Outgoing::kMost ? MessageTurn::kNext : MessageTurn::kOutOfTurn;
  }
  // Accepts the next message at once, unless taker() throws.
  template <class Taker>
  void take(const Taker& taker) {
    EXS_CHECK(waiting_.empty());
    accept_with(taker);
  }
  [[nodiscard]] bool has_waiting() const noexcept { return !waiting_.empty(); }
  // Queues the next message until it and those before it are whole. Returns its number.
  std::uint64_t wait(Item item) {
    EXS_CHECK(waiting_.size() < Outgoing::kMost);
    waiting_.push_back(std::move(item));
    return accepted_ + waiting_.size();
  }
  // Returns the waiting message of this number.
  Item& waiting(std::uint64_t number) {
    EXS_CHECK(number > accepted_ && number - accepted_ <= waiting_.size());
    return waiting_[static_cast<std::size_t>(number - accepted_ - 1)];
  }
  template <class Visitor>
  void for_each_waiting(Visitor visitor) {
    for (Item& item : waiting_) visitor(item);
  }
  // Accepts waiting messages in order, up to the first that is not whole, or for which taker(item) throws.
  template <class Taker>
  void take_whole_ones(const Taker& taker) {
    while (!waiting_.empty() && waiting_.front().is_whole()) {
      accept_with([&] { taker(waiting_.front()); });
      waiting_.pop_front();
    }
  }
  // The link broke: the sender sends these messages again.
  void forget_waiting() noexcept { waiting_.clear(); }

  // Continues a flow that another process has moved here.
  void resume(std::uint64_t accepted) noexcept { accepted_ = acknowledged_ = accepted; }

  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }
  // The sender does not know yet how far its messages are accepted.
  [[nodiscard]] bool owes_ack() const noexcept { return is_asked_ || acknowledged_ != accepted_; }
  void note_acknowledged() noexcept {
    acknowledged_ = accepted_;
    is_asked_ = false;
  }
  // The sender has repeated an accepted message, so an acknowledgement is due although nothing is new.
  void be_asked() noexcept { is_asked_ = true; }

 private:
  template <class Taker>
  void accept_with(const Taker& taker) {
    Undo not_accepted([this] { --accepted_; });
    ++accepted_;
    taker();
    not_accepted.cancel();
  }

  std::uint64_t accepted_ = 0;
  std::uint64_t acknowledged_ = 0;
  bool is_asked_ = false;
  std::deque<Item> waiting_;
};

}  // namespace exs::svc
