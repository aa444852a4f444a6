// A service of a node: its messages, and where it goes.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_SERVED_HPP
#define EXS_CPP_SERVICE_SERVED_HPP

#include <exs/cpp/service_peer.hpp>
#include <exs/cpp/service_state.hpp>

namespace exs::cpp {
// co_await gives a ServiceMessage.
class [[nodiscard]] ServiceNext final : public detail::ServiceWait {
 public:
  explicit ServiceNext(std::shared_ptr<detail::ServiceState> service) noexcept
      : service_(std::move(service)) {}
  ServiceNext within(Clock::duration time) && noexcept {
    set_limit(time);
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return service_->has_message(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    return service_->wait(&detail::ServiceState::nexts, *this);
  }
  ServiceMessage await_resume() {
    if (message_) return *std::move(message_);
    return error() ? ServiceMessage(error()) : service_->take_message();
  }

 private:
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    message_.emplace(event.message, service_, event.type == EXS_SVC_EVT_REQUEST);
    node.settle(*this, {});
  }
  std::shared_ptr<detail::ServiceState> service_;
  std::optional<ServiceMessage> message_;
};

// co_await gives an Outcome.
class [[nodiscard]] ServiceOpened final : public detail::ServiceWait {
 public:
  explicit ServiceOpened(std::shared_ptr<detail::ServiceState> service) noexcept
      : service_(std::move(service)) {}
  ServiceOpened within(Clock::duration time) && noexcept {
    set_limit(time);
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return service_->is_open(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    return service_->wait(&detail::ServiceState::opens, *this);
  }
  Outcome await_resume() const noexcept { return {error()}; }

 private:
  void take(const exs_svc_event_t&, detail::ServiceNodeState&) noexcept override {}
  std::shared_ptr<detail::ServiceState> service_;
};

// co_await gives a ServiceMessage.
class [[nodiscard]] ServiceAdopted final : public detail::ServiceWait {
 public:
  explicit ServiceAdopted(std::shared_ptr<detail::ServiceState> service) noexcept
      : service_(std::move(service)) {}
  ServiceAdopted within(Clock::duration time) && noexcept {
    set_limit(time);
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return service_->is_adopted(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    if (service_->moves_here()) return service_->wait(&detail::ServiceState::adoptions, *this);
    settle(error_of(EINVAL));
    return false;
  }
  ServiceMessage await_resume() noexcept {
    return error() ? ServiceMessage(error()) : service_->take_state();
  }

 private:
  void take(const exs_svc_event_t&, detail::ServiceNodeState&) noexcept override {}
  std::shared_ptr<detail::ServiceState> service_;
};

// co_await gives an Outcome.
class [[nodiscard]] ServiceReplying final : public detail::ServiceRoomWait {
 public:
  ServiceReplying(std::shared_ptr<detail::ServiceState> service, const exs_svc_message_t* message,
                  const ServiceItems& items, const ServiceReplyOptions& options)
      : service_(std::move(service)), message_(message), items_(items), options_(options) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    const std::error_code error = service_ == nullptr ? error_of(EINVAL) : service_->why_not();
    if (!error && !begin()) return service_->wait_for_room(*this);
    if (error) settle(error);
    return is_under_way_;
  }
  Outcome await_resume() const noexcept { return {error()}; }

 private:
  bool begin() noexcept override {
    set_number(service_->node().next_number());
    const std::error_code error = error_after(
        exs_svc_reply(message_, options_.status, items_.data(), items_.count(), options_.longs.data(),
                      options_.longs.count(), options_.more ? EXS_SVC_MORE : 0, handle()));
    if (error == std::errc::resource_unavailable_try_again) return false;
    is_under_way_ = !error && options_.longs.count() > 0;
    if (!is_under_way_) {
      settle(error);
    } else {
      service_->note_under_way(*this);
    }
    return true;
  }
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    node.settle(*this, error_of(event.error));
  }

  std::shared_ptr<detail::ServiceState> service_;
  const exs_svc_message_t* message_;
  ServiceItems items_;
  ServiceReplyOptions options_;
  bool is_under_way_ = false;
};

inline ServiceReplying ServiceMessage::reply(const ServiceItems& items,
                                             const ServiceReplyOptions& options) const {
  return {service_, message_, items, options};
}

struct ServiceMoveOptions {
  const char* to = nullptr;           // "address:port" of the other node; nullptr: search
  std::chrono::nanoseconds find{0};   // time to find it, and to find it again; 0: 500 ms
  std::chrono::nanoseconds limit{0};  // time to release all messages; 0: 5 s
  ServiceLongs state{};               // moves along
};

// co_await gives an Outcome.
class [[nodiscard]] ServiceMoving final : public detail::ServiceWait {
 public:
  ServiceMoving(std::shared_ptr<detail::ServiceState> service, const ServiceMoveOptions& options)
      : service_(std::move(service)), options_(options) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    set_number(service_->node().next_number());
    const std::error_code error = service_->why_not() ? service_->why_not() : begin();
    error ? settle(error) : service_->note_under_way(*this);
    return !error;
  }
  Outcome await_resume() const noexcept { return {error()}; }

 private:
  std::error_code begin() const noexcept {
    exs_svc_move_options_t options{};
    options.struct_bytes = sizeof options;
    options.to = options_.to;
    options.find_ns = options_.find.count();
    options.limit_ns = options_.limit.count();
    options.state = options_.state.data();
    options.state_count = options_.state.count();
    return error_after(exs_svc_move(service_->service(), &options, handle()));
  }
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    node.settle(*this, error_of(event.error));
  }

  std::shared_ptr<detail::ServiceState> service_;
  ServiceMoveOptions options_;
};

// This process is the service. What arrives is kept until next() is awaited, and counts as received: it is in the mailbox until it is
// released.
class Service {
 public:
  // As exs_svc_open, but `struct_bytes` is set here. Throws std::system_error: EADDRINUSE a process of this host is the service.
  Service(const ServiceNode& node, const ServiceKey& key, const exs_svc_options_t& options = {})
      : Service(node, key, options, false) {}
  // As exs_svc_adopt: the service will move here. Wait with adopted(). Throws std::system_error.
  [[nodiscard]] static Service adopt(const ServiceNode& node, const ServiceKey& key,
                                     const exs_svc_options_t& options = {}) {
    return {node, key, options, true};
  }
  // Closes it, as exs_svc_close does. All who wait resume with ECANCELED.
  ~Service() {
    if (state_ != nullptr) state_->close();
  }
  Service(Service&& other) noexcept = default;
  Service& operator=(Service&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }

  // NULL: its node has ended.
  [[nodiscard]] exs_svc_t* handle() const noexcept { return state_->service(); }

  // co_await gives a ServiceMessage: the next message or request, at once if it is here. Several coroutines may wait; each message goes to
  // one. EADDRINUSE another process is the service: it has moved, or has been overtaken; EOWNERDEAD the process to which it was moving
  // vanished at the last step. Destroy this object then.
  [[nodiscard]] ServiceNext next() const noexcept { return ServiceNext(state_); }
  // co_await gives an Outcome: the service can be reached. Soon, unless it is fenced or to be adopted. Errors as next().
  [[nodiscard]] ServiceOpened opened() const noexcept { return ServiceOpened(state_); }
  [[nodiscard]] bool is_open() const noexcept { return state_->is_open(); }
  // Of a fenced service: what is called when it serves nobody until it is open again.
  void on_suspended(std::function<void(std::error_code)> handler) const {
    state_->on_suspended(std::move(handler));
  }

  // co_await gives a ServiceMessage: the service is here, and what moved along are long items. Only the first one has them. EINVAL it
  // was not made by adopt().
  [[nodiscard]] ServiceAdopted adopted() const noexcept { return ServiceAdopted(state_); }
  // co_await gives an Outcome when the service has moved, with the errors of EXS_SVC_EVT_MOVED, EALREADY and ENOMEM. It moves when all
  // messages are released, so others have to await next() until it gives an error.
  [[nodiscard]] ServiceMoving move(const ServiceMoveOptions& options = {}) const { return {state_, options}; }

  // Memory for long items, as exs_svc_window. Throws std::system_error.
  void add_window(std::span<std::byte> memory, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED) const {
    detail::check_service(exs_svc_window(state_->service(), memory.data(), memory.size(), region));
  }

 private:
  Service(const ServiceNode& node, const ServiceKey& key, exs_svc_options_t options, bool adopts)
      : state_(std::make_shared<detail::ServiceState>(node.state(), (options.flags & EXS_SVC_FENCED) != 0,
                                                      adopts)) {
    options.struct_bytes = sizeof options;
    if (const std::error_code error = node.state()->why_not())
      throw std::system_error(error, "the node of a service");
    exs_svc_t* const opened = adopts ? exs_svc_adopt(node.handle(), key.handle(), &options, nullptr)
                                     : exs_svc_open(node.handle(), key.handle(), &options, nullptr);
    if (opened == nullptr) detail::throw_service_error();
    state_->open(opened);
  }

  std::shared_ptr<detail::ServiceState> state_;
};

inline ServicePeer::ServicePeer(const ServiceNode& node, const ServiceId& id,
                                const ServicePeerOptions& options)
    : state_(std::make_shared<detail::ServicePeerState>(node.state())) {
  if (const std::error_code error = node.state()->why_not())
    throw std::system_error(error, "the node of a peer");
  exs_svc_peer_t* const opened =
      exs_svc_peer_open(node.handle(), options.from == nullptr ? nullptr : options.from->handle(), &id.get(),
                        options.capability == nullptr ? nullptr : &options.capability->get(), nullptr);
  if (opened == nullptr) detail::throw_service_error();
  state_->open(opened);
}

// Ends with ETIMEDOUT. A message that arrives later is for the next one; a request is cancelled.
template <std::derived_from<detail::ServiceWait> Awaited>
requires requires(Awaited awaited) {
  std::move(awaited).within(Clock::duration());
}
Awaited with_timeout(Clock::duration time, Awaited awaited) {
  return std::move(awaited).within(time);
}

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_SERVED_HPP
