// The events under way to a port, in the order of their times. A draw of the seed decides between events of one time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "src/provider/provider.h"

namespace exs::sim {

enum class EventKind : std::uint8_t {
  kAsk,          // a connect reaches the host of the peer
  kRequest,      // a listener has one more request
  kEstablished,  // the peer has accepted
  kRefused,      // the peer has rejected, or nobody listens
  kMessage,
  kWrite,
  kLeft,   // the oldest send or write has left
  kPiece,  // part of a read
  kRead,   // the oldest read
  kEnd,    // the peer has closed
  kLost,   // the link is lost
};

struct Event {
  EventKind kind = EventKind::kLeft;
  std::uint64_t link = 0;  // or listener
  std::uint64_t due_ns = 0;
  std::uint64_t draw = 0;
  std::uint64_t number = 0;
  std::vector<std::byte> bytes{};
  RemoteSlice to{};  // kWrite; kPiece: address is the number of the read, length_bytes the part
  Status status{};   // kLost
};

// There is always room for the events that are kept for: the ends of links, so that a link can end without memory.
class EventHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return events_.size(); }
  [[nodiscard]] const Event& first() const noexcept { return events_.front(); }

  // The next `more` push() need no memory.
  void make_room(std::size_t more) {
    const std::size_t needed = events_.size() + kept_ + more;
    if (events_.capacity() < needed) events_.reserve(std::max(needed, 2 * events_.capacity()));
  }
  void keep(std::size_t places) {
    make_room(places);
    kept_ += places;
  }
  void keep_no_more(std::size_t places) noexcept { kept_ -= places; }
  // There is room.
  void push(Event event) noexcept {
    events_.push_back(std::move(event));
    std::push_heap(events_.begin(), events_.end(), is_later);
  }
  Event pop() noexcept {
    std::pop_heap(events_.begin(), events_.end(), is_later);
    Event first = std::move(events_.back());
    events_.pop_back();
    return first;
  }
  void remove_all_of(std::uint64_t link) noexcept {
    std::erase_if(events_, [link](const Event& event) { return event.link == link; });
    std::make_heap(events_.begin(), events_.end(), is_later);
  }

 private:
  static bool is_later(const Event& a, const Event& b) noexcept {
    if (a.due_ns != b.due_ns) return a.due_ns > b.due_ns;
    return a.draw != b.draw ? a.draw > b.draw : a.number > b.number;
  }

  std::vector<Event> events_;
  std::size_t kept_ = 0;
};

}  // namespace exs::sim
