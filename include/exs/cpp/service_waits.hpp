// The coroutines that wait for a node of services, and the lines in which they stand.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_WAITS_HPP
#define EXS_CPP_SERVICE_WAITS_HPP

#include <exs/service.h>
#include <exs/cpp/loop.hpp>

#include <coroutine>
#include <cstdint>
#include <optional>

namespace exs::cpp::detail {

class ServiceWait;
class ServiceNodeState;

// Waits in their order.
class ServiceLine {
 public:
  ServiceLine() noexcept = default;
  ServiceLine(const ServiceLine&) = delete;
  ServiceLine& operator=(const ServiceLine&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] ServiceWait* first() const noexcept { return first_; }
  // It leaves the line in which it stands.
  inline void add(ServiceWait& wait) noexcept;
  // NULL: there is none. Most events come in the order of their calls, so it is usually the first.
  [[nodiscard]] inline ServiceWait* find(const void* handle) const noexcept;

 private:
  friend ServiceWait;
  ServiceWait* first_ = nullptr;
  ServiceWait* last_ = nullptr;
};

// A coroutine, or an object that it will ask, which stands in at most one line. It is settled once: by an event, by its limit, or by the
// end of what it waits for. Then the node resumes it.
class ServiceWait : private Timer {
 public:
  ServiceWait() noexcept = default;
  ServiceWait(ServiceWait&& other) noexcept
      : Timer(std::move(other)), limit_(other.limit_) {}  // before it waits
  ServiceWait& operator=(ServiceWait&&) = delete;
  ~ServiceWait() override {
    leave();
    stop_clock();
  }

  void set_waiter(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  // False: its limit cannot be set. It is settled with the error.
  bool stand_in(ServiceLine& line, Loop& loop) noexcept {
    line.add(*this);
    if (!limit_ || loop_ != nullptr) return true;
    if (const std::error_code error = loop.timers().add(Clock::now() + *limit_, *this)) {
      settle(error);
      return false;
    }
    loop_ = &loop;
    return true;
  }
  void leave() noexcept {
    if (line_ == nullptr) return;
    (previous_ == nullptr ? line_->first_ : previous_->next_) = next_;
    (next_ == nullptr ? line_->last_ : next_->previous_) = previous_;
    line_ = nullptr;
    previous_ = next_ = nullptr;
  }
  [[nodiscard]] ServiceWait* next() const noexcept { return next_; }
  [[nodiscard]] bool stands_in(const ServiceLine& line) const noexcept { return line_ == &line; }
  void settle(std::error_code error) noexcept {
    leave();
    stop_clock();
    error_ = error;
  }
  // After it is settled; this object may be gone afterwards.
  virtual void resume() { std::exchange(waiter_, nullptr).resume(); }

  // Of its call: a number.
  [[nodiscard]] void* handle() const noexcept { return reinterpret_cast<void*>(number_); }
  void set_number(std::uintptr_t number) noexcept { number_ = number; }
  [[nodiscard]] std::error_code error() const noexcept { return error_; }
  // An event of its call: settles it, if that is the last one.
  virtual void take(const exs_svc_event_t& event, ServiceNodeState& node) = 0;

 protected:
  void set_limit(Clock::duration limit) noexcept { limit_ = limit; }
  [[nodiscard]] std::optional<Clock::duration> limit() const noexcept { return limit_; }
  void stop_clock() noexcept {
    if (loop_ != nullptr) std::exchange(loop_, nullptr)->timers().remove(*this);
  }

 private:
  friend ServiceLine;
  void expire(std::error_code why) override {
    loop_ = nullptr;
    settle(why ? why : error_of(ETIMEDOUT));
    resume();
  }

  ServiceLine* line_ = nullptr;
  ServiceWait* previous_ = nullptr;
  ServiceWait* next_ = nullptr;
  std::coroutine_handle<> waiter_;
  std::optional<Clock::duration> limit_;
  Loop* loop_ = nullptr;  // while its limit runs
  std::uintptr_t number_ = 0;
  std::error_code error_;
};

inline void ServiceLine::add(ServiceWait& wait) noexcept {
  wait.leave();
  wait.line_ = this;
  wait.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &wait;
  last_ = &wait;
}

inline ServiceWait* ServiceLine::find(const void* handle) const noexcept {
  ServiceWait* wait = first_;
  while (wait != nullptr && wait->handle() != handle) wait = wait->next();
  return wait;
}

}  // namespace exs::cpp::detail

#endif  // EXS_CPP_SERVICE_WAITS_HPP
