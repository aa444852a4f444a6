// Awaits two operations at once, for instance a send and the receive of its reply.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_BOTH_HPP
#define EXS_CPP_BOTH_HPP

#include <exs/cpp/task.hpp>

#include <type_traits>
#include <variant>

namespace exs::cpp {
namespace detail {

template <typename Awaited>
decltype(auto) awaiter_of(Awaited&& awaited) {
  if constexpr (requires { std::forward<Awaited>(awaited).operator co_await(); }) {
    return std::forward<Awaited>(awaited).operator co_await();
  } else {
    return std::forward<Awaited>(awaited);
  }
}
template <typename Awaited>
using AwaitedResult = decltype(awaiter_of(std::declval<Awaited>()).await_resume());

// One of the two operations. A void result becomes std::monostate.
template <typename Awaited>
struct Part {
  using Value =
      std::conditional_t<std::is_void_v<AwaitedResult<Awaited>>, std::monostate, AwaitedResult<Awaited>>;
  Awaited awaited;
  std::optional<Value> value;
  std::exception_ptr thrown;

  Value result() {
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*value);
  }
};

// Resumes the coroutine that awaits it when both have ended.
class Join {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return open_ == 0; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void await_resume() const noexcept {}
  void one_ended() {
    if (--open_ == 0 && waiter_) waiter_.resume();
  }

 private:
  int open_ = 2;
  std::coroutine_handle<> waiter_;
};

template <typename Awaited>
Detached run_part(Part<Awaited>& part, Join& join) {
  try {
    if constexpr (std::is_void_v<AwaitedResult<Awaited>>) {
      co_await std::move(part.awaited);
      part.value.emplace();
    } else {
      part.value.emplace(co_await std::move(part.awaited));
    }
  } catch (...) {
    part.thrown = std::current_exception();
  }
  join.one_ended();
}

}  // namespace detail

// Starts the first, then the second, and completes when both have. Rethrows an exception of either.
template <typename First, typename Second>
Task<std::pair<typename detail::Part<First>::Value, typename detail::Part<Second>::Value>> both(
    First first, Second second) {
  detail::Part<First> one{std::move(first), {}, {}};
  detail::Part<Second> two{std::move(second), {}, {}};
  detail::Join join;
  detail::run_part(one, join);
  detail::run_part(two, join);
  co_await join;
  co_return std::pair(one.result(), two.result());
}

}  // namespace exs::cpp

#endif  // EXS_CPP_BOTH_HPP
