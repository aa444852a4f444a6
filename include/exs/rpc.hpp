// Remote procedure calls of exs-rpc for C++20: what the classes that exs-rpcgen writes into NAME_exs.hpp stand on. exs-rpc(7) is the
// overview. Everything is in the namespace exs::cpp.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_RPC_HPP
#define EXS_RPC_HPP

#include <exs/rpc.h>
#include <exs/exs.hpp>

#include <chrono>
#include <coroutine>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace exs::cpp {

// What became of a call.
struct RpcOutcome : Outcome {
  int executed = EXS_RPC_NOT_EXECUTED;  // EXS_RPC_EXECUTED, EXS_RPC_NOT_EXECUTED or EXS_RPC_UNKNOWN
  int remote_status = 0;                // with std::errc of EREMOTEIO: what the procedure returned
};

// A result, and what it points to.
template <typename T>
class RpcResult : public RpcOutcome {
 public:
  explicit RpcResult(const exs_rpc_type_t* type) noexcept : type_(type) {}
  RpcResult(RpcResult&& other) noexcept : RpcOutcome(other), type_(std::exchange(other.type_, nullptr)) {
    std::memcpy(&value_, &other.value_, sizeof value_);
  }
  RpcResult& operator=(RpcResult&& other) noexcept {
    if (this == &other) return *this;
    free();
    static_cast<RpcOutcome&>(*this) = other;
    type_ = std::exchange(other.type_, nullptr);
    std::memcpy(&value_, &other.value_, sizeof value_);
    return *this;
  }
  ~RpcResult() { free(); }

  // Throws std::system_error if there is none.
  T& value() {
    Outcome::value();
    return value_;
  }
  // There has to be one.
  T& operator*() noexcept { return value_; }
  T* operator->() noexcept { return &value_; }

 private:
  void free() noexcept {
    if (type_ != nullptr && !error) exs_rpc_free(type_, &value_);
  }

  const exs_rpc_type_t* type_;
  T value_{};
};

template <>
class RpcResult<void> : public RpcOutcome {
 public:
  explicit RpcResult(const exs_rpc_type_t*) noexcept {}
};

namespace detail {

// A call of a client with a loop, until its result is taken.
class LoopCall {
 public:
  virtual ~LoopCall() = default;
  // Ends it with ECANCELED, and resumes who awaits it.
  virtual void abandon() = 0;
};

}  // namespace detail

struct RpcOptions {
  std::chrono::nanoseconds connect_timeout{0};  // 0: 5 s
  std::chrono::nanoseconds timeout{0};          // of calls; 0: 25 s
  std::uint32_t slots = 0;                      // calls under way at a time; 0: 8
  std::uint32_t waiting_max = 4096;             // more that wait for a slot
  bool mapped = false;                          // without a loop: EXS_RPC_MAPPED
};

// One server's procedures. With a loop its calls are awaited, and all of it is used by the loop's thread alone; without one they are
// waited for, by any thread.
class RpcClient : private detail::Guest {
 public:
  // Connects, which blocks. Throws std::system_error.
  RpcClient(const exs_rpc_interface_t& interface, const std::string& host, const std::string& port,
            const RpcOptions& options = {})
      : RpcClient(interface, nullptr, host, port, options) {}
  RpcClient(const exs_rpc_interface_t& interface, Loop& loop, const std::string& host,
            const std::string& port, const RpcOptions& options = {})
      : RpcClient(interface, &loop, host, port, options) {}
  // Calls that are awaited end with ECANCELED.
  ~RpcClient() override {
    if (loop_ == nullptr) return;
    is_ending_ = true;
    while (!calls_.empty()) calls_.back()->abandon();
    loop_->remove_guest(client_.get());
  }
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  [[nodiscard]] exs_rpc_client_t* handle() const noexcept { return client_.get(); }
  [[nodiscard]] const exs_rpc_interface_t& interface() const noexcept { return interface_; }
  [[nodiscard]] Loop* loop() const noexcept { return loop_; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }
  // For RpcCalling.
  [[nodiscard]] bool is_ending() const noexcept { return is_ending_; }
  void add(detail::LoopCall& call) const { calls_.push_back(&call); }
  void remove(detail::LoopCall& call) const noexcept { std::erase(calls_, &call); }

 private:
  RpcClient(const exs_rpc_interface_t& interface, Loop* loop, const std::string& host,
            const std::string& port, const RpcOptions& options)
      : interface_(interface),
        loop_(loop),
        timeout_(options.timeout.count() > 0 ? options.timeout : kTimeout) {
    exs_rpc_client_options_t wishes{};
    wishes.struct_bytes = sizeof wishes;
    wishes.connect_timeout_ns = options.connect_timeout.count();
    wishes.timeout_ns = timeout_.count();
    wishes.slots = options.slots;
    wishes.waiting_max = options.waiting_max;
    if (options.mapped) wishes.flags = EXS_RPC_MAPPED;
    if (loop != nullptr) {
      wishes.flags = EXS_RPC_ON_QUEUE;
      wishes.queue = loop->queue().handle();
    }
    client_.reset(exs_rpc_open(host.c_str(), port.c_str(), &interface, &wishes));
    if (client_ == nullptr) throw std::system_error(errno, std::generic_category(), exs_rpc_errtext());
    if (loop != nullptr) loop->add_guest(client_.get(), *this);
  }
  void take(const exs_event_t& event) override { exs_rpc_take(client_.get(), &event); }

  static constexpr std::chrono::nanoseconds kTimeout = std::chrono::seconds(25);
  struct Close {
    void operator()(exs_rpc_client_t* client) const noexcept { exs_rpc_close(client); }
  };
  const exs_rpc_interface_t& interface_;
  Loop* const loop_;
  const std::chrono::nanoseconds timeout_;
  std::unique_ptr<exs_rpc_client_t, Close> client_;
  bool is_ending_ = false;
  mutable std::vector<detail::LoopCall*> calls_;  // with a loop
};

// A call that has begun: co_await it, with a loop, or get() its result, without one. Either once; a call that nobody asks for is
// cancelled.
template <typename T>
class [[nodiscard]] RpcCalling final : private detail::Timer, private detail::LoopCall {
 public:
  // `begin(context)` begins the call. With `in_place` the result goes there.
  template <typename Begin>
  RpcCalling(const RpcClient& client, std::uint32_t procedure, std::chrono::nanoseconds timeout,
             void* in_place, const Begin& begin)
      : client_(client),
        loop_(client.loop()),
        type_(client.interface().procedures[procedure].result),
        in_place_(in_place) {
    context_.timeout_ns = timeout.count();
    call_ = client.is_ending() ? nullptr : begin(&context_);
    if (call_ == nullptr) error_ = client.is_ending() ? ECANCELED : errno;
    if (call_ != nullptr && loop_ != nullptr) client.add(*this);
    // The end of the call's limit.
    due_ = Clock::now() + (timeout.count() > 0 ? timeout : client.timeout());
  }
  ~RpcCalling() override {
    if (call_ == nullptr) return;
    exs_rpc_cancel(call_);
    end(nullptr);
  }
  RpcCalling(const RpcCalling&) = delete;
  RpcCalling& operator=(const RpcCalling&) = delete;

  RpcResult<T> get() { return take_result(); }

  [[nodiscard]] bool await_ready() const noexcept {
    return call_ == nullptr || loop_ == nullptr || loop_->is_ending() || exs_rpc_test(call_) != 0;
  }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    if (loop_->timers().add(due_, *this)) {
      exs_rpc_cancel(call_);
      return false;
    }
    exs_rpc_on_end(
        call_, [](void* self) { static_cast<RpcCalling*>(self)->resume(); }, this);
    return true;
  }
  [[nodiscard]] RpcResult<T> await_resume() {
    if (call_ != nullptr && loop_ != nullptr) loop_->timers().remove(*this);
    if (call_ != nullptr && exs_rpc_test(call_) == 0) exs_rpc_cancel(call_);  // the loop is ending
    return take_result();
  }

 private:
  void resume() { std::exchange(waiter_, nullptr).resume(); }
  // Who awaits it is resumed by the cancel, and may end this object.
  void abandon() override {
    const bool is_awaited = waiter_ != nullptr;
    exs_rpc_cancel(call_);
    if (is_awaited) return;
    end(nullptr);
    error_ = ECANCELED;
  }
  int end(void* place) {
    if (loop_ != nullptr) client_.remove(*this);
    return exs_rpc_end(std::exchange(call_, nullptr), place) == 0 ? 0 : errno;
  }
  // Resumes the coroutine, and with it may end this object. The call's own limit is over by now, or the loop is ending.
  void expire(std::error_code why) override {
    if (why || exs_rpc_test(call_) == 0) exs_rpc_cancel(call_);
  }
  RpcResult<T> take_result() {
    RpcResult<T> result(in_place_ == nullptr ? type_ : nullptr);
    if (call_ != nullptr) {
      void* place = in_place_;
      if constexpr (!std::is_void_v<T>) {
        if (place == nullptr) place = &*result;
      }
      error_ = end(place);
    }
    result.error = std::error_code(error_, std::generic_category());
    result.executed = context_.outcome;
    result.remote_status = context_.remote_status;
    return result;
  }

  const RpcClient& client_;
  Loop* const loop_;
  const exs_rpc_type_t* const type_;
  void* const in_place_;
  exs_rpc_context_t context_{};
  Clock::time_point due_;
  exs_rpc_call_t* call_ = nullptr;
  int error_ = 0;
  std::coroutine_handle<> waiter_;
};

}  // namespace exs::cpp

#endif  // EXS_RPC_HPP
