// What co_await takes: operations, times, descriptors, and what has a limit.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_AWAITING_HPP
#define EXS_CPP_AWAITING_HPP

#include <exs/cpp/loop.hpp>

namespace exs::cpp {

// `Post` posts the operation; `Read` makes the result from the event, or from the error of the refused post.
template <typename Post, typename Read>
class [[nodiscard]] Awaiting : public detail::Operation {
 public:
  Awaiting(Loop* loop, Post post, Read read) : loop_(loop), post_(std::move(post)), read_(std::move(read)) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    const std::error_code error = loop_ == nullptr ? error_of(ECANCELED) : loop_->start(*this, post_);
    event_.exs_evt_errno = error.value();
    return !error;
  }
  [[nodiscard]] auto await_resume() { return read_(Event(event_)); }

 protected:
  [[nodiscard]] Loop* loop() const noexcept { return loop_; }

 private:
  Loop* const loop_;
  const Post post_;
  const Read read_;
};

// Resumes when the time has come.
class [[nodiscard]] Sleeping final : public detail::Timer {
 public:
  Sleeping(Loop& loop, Clock::time_point due) noexcept : loop_(loop), due_(due) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    error_ = loop_.is_ending() ? error_of(ECANCELED) : loop_.timers().add(due_, *this);
    return !error_;
  }
  [[nodiscard]] Outcome await_resume() const noexcept { return {error_}; }

 private:
  void expire(std::error_code why) override {
    error_ = why;
    waiter_.resume();
  }

  Loop& loop_;
  const Clock::time_point due_;
  std::coroutine_handle<> waiter_;
  std::error_code error_;
};

inline Sleeping Loop::sleep_until(Clock::time_point due) noexcept {
  return {*this, due};
}
inline Sleeping Loop::sleep_for(Clock::duration time) noexcept {
  return {*this, Clock::now() + time};
}

// Resumes when the descriptor is ready, or the limit, if there is one, has come.
class [[nodiscard]] Watching final : public detail::DescriptorWait, private detail::Timer {
 public:
  Watching(Loop& loop, int descriptor, std::uint32_t direction) noexcept
      : DescriptorWait(descriptor, direction), loop_(loop) {}
  Watching(Watching&& other) noexcept
      : DescriptorWait(std::move(other)), loop_(other.loop_), due_(other.due_) {}
  Watching within(Clock::duration time) && noexcept {
    due_ = Clock::now() + time;
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    error_ = loop_.is_ending() ? error_of(ECANCELED) : loop_.descriptors().add(loop_.queue().handle(), *this);
    if (error_ || !due_) return !error_;
    error_ = loop_.timers().add(*due_, *this);
    if (error_) loop_.descriptors().remove(*this);
    return !error_;
  }
  [[nodiscard]] Outcome await_resume() const noexcept { return {error_}; }

 private:
  void ready(std::error_code why) override {
    loop_.timers().remove(*this);
    error_ = why;
    waiter_.resume();
  }
  void expire(std::error_code why) override {
    loop_.descriptors().remove(*this);
    error_ = why ? why : error_of(ETIMEDOUT);
    waiter_.resume();
  }

  Loop& loop_;
  std::optional<Clock::time_point> due_;
  std::coroutine_handle<> waiter_;
  std::error_code error_;
};

inline Watching Loop::readable(int descriptor) noexcept {
  return {*this, descriptor, EPOLLIN};
}
inline Watching Loop::writable(int descriptor) noexcept {
  return {*this, descriptor, EPOLLOUT};
}
// Ends with ETIMEDOUT.
inline Watching with_timeout(Clock::duration time, Watching watching) noexcept {
  return std::move(watching).within(time);
}

// An operation that is cancelled when its time has come. As exs_cancel says, one that the peer has begun with
// ends with its true result; else it ends with ETIMEDOUT.
template <typename Post, typename Read>
class [[nodiscard]] Limited final : public Awaiting<Post, Read>, private detail::Timer {
 public:
  Limited(Clock::time_point due, Awaiting<Post, Read> operation)
      : Awaiting<Post, Read>(std::move(operation)), due_(due) {}
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    if (!Awaiting<Post, Read>::await_suspend(waiter)) return false;
    if (this->loop()->timers().add(due_, *this)) exs_cancel(-1, handle(), EXS_CAF_AHANDLE);
    return true;
  }
  [[nodiscard]] auto await_resume() {
    if (this->loop() != nullptr) this->loop()->timers().remove(*this);
    if (expired_ && this->event_.exs_evt_errno == ECANCELED) this->event_.exs_evt_errno = ETIMEDOUT;
    return Awaiting<Post, Read>::await_resume();
  }

 private:
  void* handle() noexcept { return static_cast<detail::Operation*>(this); }
  void expire(std::error_code why) override {
    expired_ = !why;
    exs_cancel(-1, handle(), EXS_CAF_AHANDLE);
  }

  const Clock::time_point due_;
  bool expired_ = false;
};

template <typename Post, typename Read>
Limited<Post, Read> with_timeout(Clock::duration time, Awaiting<Post, Read> operation) {
  return {Clock::now() + time, std::move(operation)};
}

namespace detail {

struct ReadOutcome {
  Outcome operator()(const Event& event) const noexcept { return {event.error()}; }
};
struct ReadResult {
  Result operator()(const Event& event) const noexcept { return event.result(); }
};

// Refuses the flags that give no event, or several: an awaiting coroutine needs exactly one.
template <typename Post>
auto transfer(Loop* loop, int flags, Post post) {
  const auto checked_post = [flags, post](exs_qhandle_t queue, void* handle) {
    if ((flags & (EXS_NO_EVENT | EXS_NOTIFY)) == 0) return post(queue, handle);
    errno = EOPNOTSUPP;
    return -1;
  };
  return Awaiting(loop, checked_post, ReadResult());
}

}  // namespace detail

}  // namespace exs::cpp

#endif  // EXS_CPP_AWAITING_HPP
