// What co_await takes: operations, times, and operations with a limit.
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
    outcome_ = loop_.is_ending() ? error_of(ECANCELED) : loop_.timers().add(due_, *this);
    return !outcome_;
  }
  [[nodiscard]] std::error_code await_resume() const noexcept { return outcome_; }

 private:
  void expire(std::error_code why) override {
    outcome_ = why;
    waiter_.resume();
  }

  Loop& loop_;
  const Clock::time_point due_;
  std::coroutine_handle<> waiter_;
  std::error_code outcome_;
};

inline Sleeping Loop::sleep_until(Clock::time_point due) noexcept {
  return {*this, due};
}
inline Sleeping Loop::sleep_for(Clock::duration time) noexcept {
  return {*this, Clock::now() + time};
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

}  // namespace exs::cpp

#endif  // EXS_CPP_AWAITING_HPP
