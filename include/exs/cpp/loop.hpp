// Runs coroutines: dequeues the events of one queue and resumes the coroutines that await them.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_LOOP_HPP
#define EXS_CPP_LOOP_HPP

#include <exs/cpp/descriptors.hpp>
#include <exs/cpp/operation_set.hpp>
#include <exs/cpp/socket.hpp>
#include <exs/cpp/task.hpp>
#include <exs/cpp/timers.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

namespace exs::cpp {

class Loop;
class Sleeping;
class Watching;

namespace detail {

// What posts operations on a loop's queue by itself, all with one handle.
class Guest {
 public:
  virtual ~Guest() = default;
  virtual void take(const exs_event_t& event) = 0;
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

// One thread at a time uses a loop, its sockets and its coroutines; only post() and stop() may be called from
// any thread. A program with several threads has a loop for each.
//
// The queue may get other events, too: notices of time limits, of the peer's use of persistent memory, or of
// operations that the program posts by itself. They go to on_other_event().
//
// The destructor ends the spawned tasks that have not ended: it aborts the connections of the loop's sockets
// and resumes each coroutine with an error; everything that it awaits later completes with ECANCELED.
class Loop {
 public:
  // The queue grows when more operations are pending.
  explicit Loop(int depth = 256) : queue_(std::max(depth, kBatch)), depth_(std::max(depth, kBatch)) {}
  ~Loop() {
    ending_ = true;
    while (sockets_ != nullptr) break_off(*sockets_);
    timers_.cancel_all();
    descriptors_.cancel_all();
    // The remaining operations are on sockets of others.
    operations_.for_each([](void* operation) { exs_cancel(-1, operation, EXS_CAF_AHANDLE); });
    while (!operations_.empty() || closes_ > 0) step_once(std::nullopt);
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
    rethrow();
  }
  // Waits for events, timers and posted functions at most until the timeout (none: without a limit), and
  // carries out what they mean. False: the timeout came, or a signal. Rethrows as run().
  bool step(Queue::Timeout timeout = std::nullopt) {
    const bool any = step_once(timeout);
    rethrow();
    return any;
  }
  // What is there, without waiting. For a program with another loop (epoll, asio, libuv), which calls it when
  // descriptor() is readable and when until_timer() is over.
  bool poll() { return step(std::chrono::nanoseconds(0)); }
  // Readable while there is something for poll() but timers; -1: errno says why. The loop owns it.
  [[nodiscard]] int descriptor() noexcept { return descriptors_.open(queue_.handle()); }
  // How long until the first timer is due, if there is one.
  [[nodiscard]] std::optional<Clock::duration> until_timer() const { return timers_.left(); }

  // What is called with each event of the queue that no coroutine awaits, and then owns the new socket of
  // EXS_EVT_ACCEPT. Without it such events are dropped, and such sockets closed.
  void on_other_event(std::function<void(const Event&)> handler) { on_other_event_ = std::move(handler); }
  // Calls the function in the loop's thread, soon. ENOMEM; EAGAIN the queue is full and cannot be deeper: the
  // function will not be called. Thread: any.
  Outcome post(std::function<void()> function) noexcept {
    const std::lock_guard guard(posted_mutex_);
    try {
      posted_.push_back(std::move(function));
    } catch (const std::bad_alloc&) {
      return {error_of(ENOMEM)};
    }
    if (posted_.size() > 1) return {};  // the loop is woken already
    const std::error_code error = wake();
    if (error) posted_.pop_back();
    return {error};
  }
  // Runs until this task has ended, and returns its result or rethrows its exception.
  template <typename T>
  T block_on(Task<T> task) {
    TaskEnd<T> end;
    run_into(std::move(task), end);
    while (!end.ended) step_once(std::nullopt);
    if (end.thrown) std::rethrow_exception(end.thrown);
    if constexpr (!std::is_void_v<T>) return std::move(*end.value);
  }
  // Makes run() return after the events that are in the queue. Thread: any.
  Outcome stop() const noexcept {
    stop_asked_ = true;
    return {wake()};
  }
  // The number of spawned tasks that have not ended.
  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_; }

  // co_await gives an Outcome, ECANCELED when the loop ends before.
  inline Sleeping sleep_until(Clock::time_point due) noexcept;
  inline Sleeping sleep_for(Clock::duration time) noexcept;
  // Wait until a descriptor of another library or of the kernel is readable, writable. It must stay open until
  // then. co_await gives an Outcome: EBADF; EPERM files of a disk, which are always ready; EMFILE, ENOMEM;
  // ECANCELED when the loop ends before.
  inline Watching readable(int descriptor) noexcept;
  inline Watching writable(int descriptor) noexcept;

  // Posts an operation that a coroutine awaits: post(queue, handle) is a call of exs.h. Without an error, the
  // event of the operation resumes its coroutine, once.
  template <typename Post>
  std::error_code start(detail::Operation& operation, const Post& post) noexcept {
    if (ending_) return error_of(ECANCELED);
    const std::error_code error = post_with_room(post, &operation);
    if (!error) operations_.add(operation);
    return error;
  }
  // Events with this handle go to the guest from now on. Throws std::bad_alloc.
  void add_guest(void* handle, detail::Guest& guest) { guests_.emplace(handle, &guest); }
  void remove_guest(void* handle) noexcept { guests_.erase(handle); }
  [[nodiscard]] detail::Timers& timers() noexcept { return timers_; }
  [[nodiscard]] detail::Descriptors& descriptors() noexcept { return descriptors_; }
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }

 private:
  friend detail::Attached;
  static constexpr int kBatch = 64;  // events dequeued at once

  template <typename T>
  struct TaskEnd {
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
  static detail::Detached run_into(Task<T> task, TaskEnd<T>& end) {
    try {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(task);
      } else {
        end.value.emplace(co_await std::move(task));
      }
    } catch (...) {
      end.thrown = std::current_exception();
    }
    end.ended = true;
  }

  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
  // Of what concerns no coroutine. Nobody else has this address; a program's object may begin with the loop.
  void* own_handle() const noexcept { return &stop_asked_; }
  // In the loop's thread: no other dequeues, so a queue that has room has had it, and something else lacks.
  template <typename Post>
  std::error_code post_with_room(const Post& post, void* handle) const noexcept {
    for (;;) {
      const int depth = depth_;
      const std::error_code error = error_after(post(queue_.handle(), handle));
      if (error != std::errc::resource_unavailable_try_again || grow(depth) != Room::kMore) return error;
    }
  }
  // In any thread: the loop may make room at any moment.
  std::error_code wake() const noexcept {
    for (;;) {
      const int depth = depth_;
      const std::error_code error = error_after(exs_qpost(queue_.handle(), own_handle(), nullptr));
      if (error != std::errc::resource_unavailable_try_again || grow(depth) == Room::kNone) return error;
    }
  }
  void close_later(int socket) noexcept {
    const auto close = [socket](exs_qhandle_t queue, void* handle) {
      return exs_close_async(socket, 0, queue, handle);
    };
    if (ending_ || post_with_room(close, own_handle())) {
      exs_close(socket);
    } else {
      ++closes_;
    }
  }

  bool queue_status(int attribute, int& value) const noexcept {
    std::size_t length = sizeof value;
    return exs_qstatus(queue_.handle(), attribute, &value, &length) == 0;
  }
  enum class Room { kNone, kSome, kMore };
  // Makes a queue deeper that was full at this depth; kSome: it is not full.
  Room grow(int depth) const noexcept {
    const std::lock_guard guard(depth_mutex_);
    int now = 0;
    int taken = 0;
    if (!queue_status(EXS_QATTR_DEPTH, now) || !queue_status(EXS_QATTR_RESERVED_SLOTS, taken))
      return Room::kNone;
    depth_ = now;
    if (now != depth) return Room::kMore;  // by another thread
    if (taken < depth) return Room::kSome;
    const int deeper = 2 * depth;
    if (deeper > EXS_QDEPTH_MAX) return Room::kNone;
    if (exs_qmodify(queue_.handle(), EXS_QATTR_DEPTH, &deeper, sizeof deeper) == -1) return Room::kNone;
    depth_ = deeper;
    return Room::kMore;
  }

  bool step_once(Queue::Timeout timeout) {
    if (const auto left = timers_.left(); left && (!timeout || *left < *timeout)) timeout = *left;
    bool any = false;
    if (!descriptors_.empty()) {
      std::error_code interrupted;
      any = descriptors_.wait(timeout, interrupted);
      if (interrupted) return false;
      timeout = std::chrono::nanoseconds(0);
    }
    std::array<exs_event_t, kBatch> room;
    const Queue::Taken taken = queue_.wait(room, 1, timeout);
    if (taken.error && taken.error != std::errc::interrupted)
      throw std::system_error(taken.error, "exs_qwait");
    for (const exs_event_t& event : taken.events) deliver(event);
    const bool any_due = timers_.expire();
    return any || any_due || !taken.events.empty();
  }
  void deliver(const exs_event_t& event) {
    if (event.exs_evt_ahandle == own_handle())
      return event.exs_evt_type == EXS_EVT_CLOSE ? void(--closes_) : call_posted();
    if (const auto guest = guests_.find(event.exs_evt_ahandle); guest != guests_.end())
      return keep_exception([&] { guest->second->take(event); });
    if (is_notice(event.exs_evt_type) || (event.exs_evt_flags & EXS_EVF_MORE) != 0) {
      detail::Operation* const operation = operations_.find(event.exs_evt_ahandle);
      if (operation == nullptr || !operation->hear(event)) deliver_to_other(event);
    } else if (detail::Operation* const operation = operations_.take(event.exs_evt_ahandle)) {
      operation->event_ = event;
      operation->complete();
    } else {
      deliver_to_other(event);
    }
  }
  void deliver_to_other(const exs_event_t& event) {
    if (on_other_event_ && !ending_) {
      keep_exception([&] { on_other_event_(Event(event)); });
    } else if (const int unwanted = Event(event).new_socket(); unwanted != -1) {
      abort(unwanted);
    }
  }
  // Such an event ends no operation, whatever its handle.
  static bool is_notice(int type) noexcept {
    return type == EXS_EVT_SENDTIMEOUT || type == EXS_EVT_RECVTIMEOUT || type == EXS_EVT_PEER_READ ||
           type == EXS_EVT_PEER_WRITE || type == EXS_EVT_USER;
  }
  void call_posted() {
    if (stop_asked_.exchange(false)) stopped_ = true;
    std::vector<std::function<void()>> functions;
    {
      const std::lock_guard guard(posted_mutex_);
      functions.swap(posted_);
    }
    if (ending_) return;
    for (const auto& function : functions) keep_exception(function);
  }
  template <typename Function>
  void keep_exception(const Function& function) noexcept {
    try {
      function();
    } catch (...) {
      if (!thrown_) thrown_ = std::current_exception();
    }
  }

  static void break_off(detail::Attached& attached) noexcept {
    const int number = attached.socket_.release();
    attached.detach();
    abort(number);
  }
  static void abort(int number) noexcept {
    const int at_once = 0;
    exs_setsockopt(number, SOL_EXS, EXS_SO_LINGER_MS, &at_once, sizeof at_once);
    exs_close(number);
  }

  const Library library_;
  const Queue queue_;
  mutable std::mutex depth_mutex_;  // who makes it deeper
  mutable std::atomic<int> depth_;
  detail::Attached* sockets_ = nullptr;  // list of the open ones
  std::size_t tasks_ = 0;
  detail::OperationSet operations_;  // that are awaited
  detail::Timers timers_;
  detail::Descriptors descriptors_;
  std::size_t closes_ = 0;  // in the background, whose event has not been dequeued
  std::function<void(const Event&)> on_other_event_;
  std::unordered_map<void*, detail::Guest*> guests_;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  mutable std::atomic<bool> stop_asked_{false};
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
  loop_->close_later(socket_.release());
  detach();
}

}  // namespace detail

}  // namespace exs::cpp

#endif  // EXS_CPP_LOOP_HPP
