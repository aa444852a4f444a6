// What one call gives again and again: connections, and messages in buffers of a pool.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_ARRIVALS_HPP
#define EXS_CPP_ARRIVALS_HPP

#include <exs/cpp/loop.hpp>

#include <deque>
#include <memory>
#include <new>
#include <optional>

namespace exs::cpp {

// What next() of an Arrivals gives: an item, or the end, with its reason.
template <typename Item>
class [[nodiscard]] Arrived : public Outcome {
 public:
  explicit Arrived(Item item) : item_(std::move(item)) {}
  explicit Arrived(std::error_code why) noexcept : Outcome{why} {}

  // An item is here. The item may have an error of its own, as an Accepted has.
  explicit operator bool() const noexcept { return item_.has_value(); }
  // No more will come, and nothing has failed: the peer has ended its sending.
  [[nodiscard]] bool ended() const noexcept { return !item_ && !error; }
  // There has to be one.
  [[nodiscard]] Item& operator*() & noexcept { return *item_; }
  [[nodiscard]] const Item& operator*() const& noexcept { return *item_; }
  [[nodiscard]] Item&& operator*() && noexcept { return *std::move(item_); }
  [[nodiscard]] Item* operator->() noexcept { return &*item_; }
  [[nodiscard]] const Item* operator->() const noexcept { return &*item_; }
  // The item. Throws the error; when nothing has failed and no more will come, std::errc::no_message_available.
  [[nodiscard]] Item& value() & {
    throw_unless_here();
    return *item_;
  }
  [[nodiscard]] const Item& value() const& {
    throw_unless_here();
    return *item_;
  }
  [[nodiscard]] Item value() && {
    throw_unless_here();
    return *std::move(item_);
  }

 private:
  void throw_unless_here() const {
    Outcome::value();
    if (!item_) throw std::system_error(error_of(ENODATA));
  }

  std::optional<Item> item_;
};

namespace detail {

// The operation behind an Arrivals, which may be gone before the last event. `Read` makes an item of an event.
template <typename Item, typename Read>
class Arriving final : public Operation {
 public:
  template <typename Post>
  Arriving(Loop* loop, const Post& post, Read read) : read_(std::move(read)) {
    why_ = loop == nullptr ? error_of(ECANCELED) : loop->start(*this, post);
    ended_ = static_cast<bool>(why_);
  }
  [[nodiscard]] bool has_news() const noexcept { return ended_ || !here_.empty(); }
  [[nodiscard]] Arrived<Item> take() {
    if (here_.empty()) return Arrived<Item>(why_);
    Arrived<Item> first(std::move(here_.front()));
    here_.pop_front();
    return first;
  }
  [[nodiscard]] std::error_code why() const noexcept { return why_; }
  void wait(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void close() noexcept {
    if (!ended_) exs_cancel(-1, static_cast<Operation*>(this), EXS_CAF_AHANDLE);
  }
  // Its owner has gone.
  void abandon() noexcept {
    if (ended_) return delete this;
    abandoned_ = true;
    here_.clear();
    close();
  }

 private:
  // An item that nobody will ask for is dropped: its destructor closes the socket, or gives the buffer back.
  bool hear(const exs_event_t& event) override {
    if ((event.exs_evt_flags & EXS_EVF_MORE) == 0) return false;
    Item item = read_(Event(event));
    if (abandoned_ || why_) return true;
    try {
      here_.push_back(std::move(item));
    } catch (const std::bad_alloc&) {
      why_ = error_of(ENOMEM);  // one is missing: what comes behind it must not be taken for it
      close();
      return true;
    }
    tell();
    return true;
  }
  void complete() override {
    ended_ = true;
    if (!why_) why_ = error_of(event_.exs_evt_errno);
    if (abandoned_) return delete this;
    tell();
  }
  void tell() {
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }

  const Read read_;
  std::deque<Item> here_;
  std::error_code why_;
  bool ended_ = false;
  bool abandoned_ = false;
};

}  // namespace detail

// The call stays posted until close(), or until this object is destroyed.
template <typename Item, typename Read>
class [[nodiscard]] Arrivals {
 public:
  template <typename Post>
  Arrivals(Loop* loop, const Post& post, Read read)
      : arriving_(new detail::Arriving<Item, Read>(loop, post, std::move(read))) {}

  // co_await gives an Arrived<Item>: the next one, at once if it is here; or nothing: no more will come. By one coroutine
  // at a time; this object stays until it has resumed.
  [[nodiscard]] auto next() noexcept {
    struct Await {
      detail::Arriving<Item, Read>& arriving;
      [[nodiscard]] bool await_ready() const noexcept { return arriving.has_news(); }
      void await_suspend(std::coroutine_handle<> waiter) const noexcept { arriving.wait(waiter); }
      [[nodiscard]] Arrived<Item> await_resume() const { return arriving.take(); }
    };
    return Await{*arriving_};
  }
  // That of the Arrived which says that no more will come. No error: the peer has ended its sending. ENOMEM: one that
  // came is lost.
  [[nodiscard]] std::error_code error() const noexcept { return arriving_->why(); }
  // Takes the call back; next() gives what is here, then nothing.
  void close() noexcept { arriving_->close(); }

 private:
  struct Abandon {
    void operator()(detail::Arriving<Item, Read>* arriving) const noexcept { arriving->abandon(); }
  };
  std::unique_ptr<detail::Arriving<Item, Read>, Abandon> arriving_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_ARRIVALS_HPP
