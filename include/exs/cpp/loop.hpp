// Runs coroutines: dequeues the events of one queue and resumes the coroutines that await them.
#ifndef EXS_CPP_LOOP_HPP
#define EXS_CPP_LOOP_HPP

#include <exs/cpp/socket.hpp>
#include <exs/cpp/task.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

namespace exs::cpp {

class Loop;

namespace detail {

// What a coroutine awaits. Part of the coroutine frame; its address is the handle of the event.
class Operation {
 public:
  Operation() = default;
  // Allowed only before it is awaited.
  Operation(Operation&&) noexcept {}
  Operation& operator=(Operation&&) = delete;

 protected:
  ~Operation() = default;
  std::coroutine_handle<> waiter_;
  exs_event_t event_{};

 private:
  friend Loop;
  Operation* previous_ = nullptr;
  Operation* next_ = nullptr;
};

// A socket that its loop lists while it is open.
class Attached {
 public:
  Attached() noexcept = default;
  inline Attached(Loop& loop, Socket socket) noexcept;
  Attached(Attached&& other) noexcept { take(other); }
  Attached& operator=(Attached&& other) noexcept {
    if (this == &other) return *this;
    close_in_background();
    take(other);
    return *this;
  }
  ~Attached() { close_in_background(); }

  [[nodiscard]] Loop* loop() const noexcept { return loop_; }
  [[nodiscard]] Socket& socket() noexcept { return socket_; }
  [[nodiscard]] const Socket& socket() const noexcept { return socket_; }
  // Removes it from the list; the caller closes the socket.
  inline void detach() noexcept;

 private:
  friend Loop;
  inline void attach(Loop* loop) noexcept;
  inline void close_in_background() noexcept;
  void take(Attached& other) noexcept {
    Loop* const loop = other.loop_;
    Socket socket = std::move(other.socket_);
    other.detach();
    socket_ = std::move(socket);
    if (loop != nullptr) attach(loop);
  }

  Socket socket_;
  Loop* loop_ = nullptr;
  Attached* previous_ = nullptr;
  Attached* next_ = nullptr;
};

}  // namespace detail

// One thread at a time uses a loop, its sockets and its coroutines; only stop() may be called from any
// thread. A program with several threads has a loop for each.
//
// The destructor ends the spawned tasks that have not ended: it aborts the connections of the loop's sockets
// and resumes each coroutine with an error; everything that it awaits later completes with ECANCELED.
class Loop {
 public:
  // The queue grows when more operations are pending.
  explicit Loop(int depth = 256) : queue_(std::max(depth, kBatch)) {}
  ~Loop() {
    ending_ = true;
    while (sockets_ != nullptr) break_off(*sockets_);
    // The remaining operations are on sockets of others.
    for (auto* operation = operations_; operation != nullptr; operation = operation->next_)
      exs_cancel(-1, operation, EXS_CAF_AHANDLE);
    while (under_way_ > 0) step();
    while (sockets_ != nullptr) break_off(*sockets_);  // created meanwhile, by a coroutine that has ended
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] const Queue& queue() const noexcept { return queue_; }

  // Runs the task until it first suspends; run() continues it.
  void spawn(Task<void> task) { run_detached(std::move(task)); }
  // Runs until every spawned task has ended, or stop(). Rethrows the first exception of a task.
  void run() {
    stopped_ = false;
    while (tasks_ > 0 && !stopped_ && !thrown_) step();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
  // Runs until this task has ended, and returns its result or rethrows its exception.
  template <typename T>
  T block_on(Task<T> task) {
    Outcome<T> outcome;
    run_into(std::move(task), outcome);
    while (!outcome.ended) step();
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
    if constexpr (!std::is_void_v<T>) return std::move(*outcome.value);
  }
  // Makes run() return after the events that are in the queue. Thread: any.
  std::error_code stop() const noexcept {
    std::error_code error = queue_.post(nullptr);
    while (error == std::errc::resource_unavailable_try_again && grow()) error = queue_.post(nullptr);
    return error;
  }
  // The number of spawned tasks that have not ended.
  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_; }

  // Posts an operation that a coroutine awaits: post(queue, handle) is a call of exs.h. Without an error, the
  // event of the operation resumes its coroutine, once.
  template <typename Post>
  std::error_code start(detail::Operation* operation, const Post& post) noexcept {
    if (ending_) return error_of(ECANCELED);
    for (;;) {
      const std::error_code error = outcome_of(post(queue_.handle(), operation));
      if (!error) remember(operation);
      if (error != std::errc::resource_unavailable_try_again || !grow()) return error;
    }
  }

 private:
  friend detail::Attached;
  static constexpr int kBatch = 64;  // events dequeued at once

  template <typename T>
  struct Outcome {
    bool ended = false;
    std::exception_ptr thrown;
    std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
  };

  detail::Detached run_detached(Task<void> task) {
    ++tasks_;
    try {
      co_await std::move(task);
    } catch (...) {
      if (!thrown_) thrown_ = std::current_exception();
    }
    --tasks_;
  }
  template <typename T>
  static detail::Detached run_into(Task<T> task, Outcome<T>& outcome) {
    try {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(task);
      } else {
        outcome.value.emplace(co_await std::move(task));
      }
    } catch (...) {
      outcome.thrown = std::current_exception();
    }
    outcome.ended = true;
  }

  void remember(detail::Operation* operation) noexcept {
    ++under_way_;
    if (operation == nullptr) return;
    operation->next_ = operations_;
    if (operations_ != nullptr) operations_->previous_ = operation;
    operations_ = operation;
  }
  void forget(const detail::Operation& operation) noexcept {
    auto* const before = operation.previous_;
    (before == nullptr ? operations_ : before->next_) = operation.next_;
    if (operation.next_ != nullptr) operation.next_->previous_ = before;
  }

  // False: the queue is not full, or cannot be deeper.
  bool grow() const noexcept {
    int depth = 0;
    int taken = 0;
    std::size_t length = sizeof depth;
    if (exs_qstatus(queue_.handle(), EXS_QATTR_DEPTH, &depth, &length) == -1) return false;
    if (exs_qstatus(queue_.handle(), EXS_QATTR_RESERVED_SLOTS, &taken, &length) == -1) return false;
    if (taken < depth || depth > EXS_QDEPTH_MAX / 2) return false;
    depth *= 2;
    return exs_qmodify(queue_.handle(), EXS_QATTR_DEPTH, &depth, sizeof depth) == 0;
  }

  // Waits for events and resumes the coroutines that await them.
  void step() {
    std::array<exs_event_t, kBatch> room;
    const Queue::Taken taken = queue_.wait(room);
    if (taken.error == std::errc::interrupted) return;
    if (taken.error) throw std::system_error(taken.error, "exs_qwait");
    for (const exs_event_t& event : taken.events) deliver(event);
  }
  void deliver(const exs_event_t& event) {
    if (event.exs_evt_type == EXS_EVT_USER) {
      stopped_ = true;
      return;
    }
    --under_way_;
    auto* const operation = static_cast<detail::Operation*>(event.exs_evt_ahandle);
    if (operation == nullptr) return;  // EXS_EVT_CLOSE of a destroyed socket
    forget(*operation);
    operation->event_ = event;
    operation->waiter_.resume();
  }

  static void break_off(detail::Attached& attached) noexcept {
    const int number = attached.socket_.release();
    attached.detach();
    const int at_once = 0;
    exs_setsockopt(number, SOL_EXS, EXS_SO_LINGER_MS, &at_once, sizeof at_once);
    exs_close(number);
  }

  const Library library_;
  const Queue queue_;
  detail::Attached* sockets_ = nullptr;  // list of the open ones
  std::size_t tasks_ = 0;
  detail::Operation* operations_ = nullptr;  // list of the awaited ones
  std::size_t under_way_ = 0;                // operations whose event has not been dequeued
  std::exception_ptr thrown_;
  bool stopped_ = false;
  bool ending_ = false;
};

namespace detail {

inline Attached::Attached(Loop& loop, Socket socket) noexcept : socket_(std::move(socket)) {
  attach(&loop);
}

inline void Attached::attach(Loop* loop) noexcept {
  loop_ = loop;
  next_ = loop->sockets_;
  if (next_ != nullptr) next_->previous_ = this;
  loop->sockets_ = this;
}

inline void Attached::detach() noexcept {
  if (loop_ == nullptr) return;
  (previous_ == nullptr ? loop_->sockets_ : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  loop_ = nullptr;
  previous_ = next_ = nullptr;
}

// Does not block, so the end of a coroutine does not delay the others of its loop.
inline void Attached::close_in_background() noexcept {
  if (loop_ == nullptr) return;
  const int number = socket_.release();
  const std::error_code error = loop_->start(nullptr, [number](exs_qhandle_t queue, void* handle) {
    return exs_close_async(number, 0, queue, handle);
  });
  if (error) exs_close(number);
  detach();
}

}  // namespace detail

// What co_await takes: `Post` posts the operation; `Read` makes the result from the event, or from the error
// of the refused post.
template <typename Post, typename Read>
class [[nodiscard]] Awaiting : public detail::Operation {
 public:
  Awaiting(Loop* loop, Post post, Read read) : loop_(loop), post_(std::move(post)), read_(std::move(read)) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    const std::error_code error = loop_ == nullptr ? error_of(ECANCELED) : loop_->start(this, post_);
    event_.exs_evt_errno = error.value();
    return !error;
  }
  [[nodiscard]] auto await_resume() { return read_(Event(event_)); }

 private:
  Loop* const loop_;
  const Post post_;
  const Read read_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_LOOP_HPP
