// Requests to a service: one that is awaited as a whole, and one whose parts are awaited.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_REQUESTS_HPP
#define EXS_CPP_SERVICE_REQUESTS_HPP

#include <exs/cpp/service_calls.hpp>

namespace exs::cpp {

struct ServiceRequestOptions {
  ServiceLongs longs{};
  ServiceReturns returns{};           // memory for long items of replies; none: the library allocates it
  std::chrono::nanoseconds limit{0};  // from co_await to the last reply; 0: none
  bool idempotent = false;            // EXS_SVC_IDEMPOTENT
};

namespace detail {

class ServiceRequestCall : public ServiceCall {
 public:
  ServiceRequestCall(std::shared_ptr<ServicePeerState> peer, const ServiceItems& items,
                     const ServiceRequestOptions& options)
      : ServiceCall(std::move(peer), items, options.longs),
        returns_(options.returns),
        idempotent_(options.idempotent) {
    if (options.limit.count() > 0) set_limit(options.limit);
  }
  ServiceRequestCall(ServiceRequestCall&& other) = default;
  // A coroutine that is destroyed before it resumes does not want the reply.
  ~ServiceRequestCall() override { cancel(); }

  [[nodiscard]] bool is_request() const noexcept final { return true; }
  [[nodiscard]] bool has_event() const noexcept final { return true; }
  int post(exs_svc_peer_t* peer) noexcept final {
    exs_svc_request_options_t options{};
    options.struct_bytes = sizeof options;
    options.flags = idempotent_ ? EXS_SVC_IDEMPOTENT : 0;
    options.returns = returns_.data();
    options.returns_count = returns_.count();
    if (limit()) options.limit_ns = left().count();
    const int result = exs_svc_request(peer, items().data(), items().count(), longs().data(), longs().count(),
                                       &options, handle());
    if (result == 0) stop_clock();  // the peer has the limit now
    return result;
  }

 protected:
  void cancel() noexcept {
    if (has_peer()) peer().cancel(*this);
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds left() {
    if (!due_) due_ = Clock::now() + *limit();
    return std::max<std::chrono::nanoseconds>(*due_ - Clock::now(), std::chrono::nanoseconds(1));
  }

  ServiceReturns returns_;
  bool idempotent_;
  std::optional<Clock::time_point> due_;
};

inline ServiceReply reply_of(const exs_svc_event_t& event) noexcept {
  if (event.error != 0) return ServiceReply(error_of(event.error));
  return {event.message, event.status, (event.flags & EXS_SVC_MORE) != 0};
}

}  // namespace detail

class [[nodiscard]] ServiceRequesting final : public detail::ServiceRequestCall {
 public:
  using ServiceRequestCall::ServiceRequestCall;
  ServiceRequesting within(Clock::duration time) && noexcept {
    set_limit(limit() ? std::min(*limit(), time) : time);
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    return peer().start(*this);
  }
  ServiceReply await_resume() noexcept {
    if (!reply_.error) reply_.error = error();
    reply_.parts = std::move(parts_);
    return std::move(reply_);
  }

 private:
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    ServiceReply reply = detail::reply_of(event);
    if (!reply.has_more()) {
      const std::error_code error = is_short_ ? error_of(ENOMEM) : reply.error;
      if (!error) reply_ = std::move(reply);
      return node.settle(*this, error);
    }
    try {
      parts_.push_back(std::move(reply));
    } catch (const std::bad_alloc&) {
      is_short_ = true;
    }
  }

  ServiceReply reply_;
  std::vector<ServiceReply> parts_;
  bool is_short_ = false;  // a part has found no memory
};

// A request whose reply comes in parts (EXS_SVC_MORE). It begins with the first next(). The destructor cancels it, if the last part has not
// come. Its items must stay valid until the first next() has resumed, and its long items and `returns` until the last one has; so end
// early by cancel(), and not by the destructor, if there are such items.
class [[nodiscard]] ServiceParts final : private detail::ServiceRequestCall {
 public:
  using ServiceRequestCall::ServiceRequestCall;
  ServiceParts(ServiceParts&&) = delete;
  ServiceParts& operator=(ServiceParts&&) = delete;

  class [[nodiscard]] Next final : public detail::ServiceWait {
   public:
    explicit Next(ServiceParts& parts) noexcept : parts_(parts) {}
    Next within(Clock::duration time) && noexcept {
      set_limit(time);
      return std::move(*this);
    }
    [[nodiscard]] bool await_ready() const noexcept { return parts_.ended_ || !parts_.here_.empty(); }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
      set_waiter(waiter);
      return parts_.start(*this);
    }
    ServiceReply await_resume() { return error() ? ServiceReply(error()) : parts_.take_first(); }

   private:
    void take(const exs_svc_event_t&, detail::ServiceNodeState&) noexcept override {}
    ServiceParts& parts_;
  };
  // co_await gives a ServiceReply: the next part, at once if it is here; has_more() says whether another one follows. An error ends
  // the request. After the end: ENODATA, or the error again. By one coroutine at a time; this object stays until it has resumed.
  [[nodiscard]] Next next() noexcept { return Next(*this); }
  // The request ends with ECANCELED, unless its last part is here. The service may have executed it.
  void cancel() noexcept { ServiceRequestCall::cancel(); }

 private:
  bool start(Next& next) noexcept {
    if (!std::exchange(begun_, true) && !peer().start(*this)) {
      end();
      return false;
    }
    return next.stand_in(next_, peer().node().loop());
  }
  ServiceReply take_first() {
    if (here_.empty()) return ServiceReply(why_);
    ServiceReply first = std::move(here_.front());
    here_.pop_front();
    return first;
  }
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    ServiceReply reply = detail::reply_of(event);
    const bool has_more = reply.has_more();
    const std::error_code error = reply.error;
    if (!error && !is_short_) is_short_ = !keep(std::move(reply));
    if (!has_more) return node.settle(*this, is_short_ ? error_of(ENOMEM) : error);
    if (is_short_) return cancel();
    if (!next_.empty()) node.settle(*next_.first(), {});
  }
  bool keep(ServiceReply reply) noexcept try {
    here_.push_back(std::move(reply));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  void end() noexcept {
    ended_ = true;
    why_ = error() ? error() : error_of(ENODATA);
  }
  // When the request is settled.
  void resume() override {
    end();
    if (next_.empty()) return;
    detail::ServiceWait& next = *next_.first();
    next.settle({});
    next.resume();
  }

  bool begun_ = false;
  bool ended_ = false;
  bool is_short_ = false;  // a part has found no memory
  std::deque<ServiceReply> here_;
  std::error_code why_;
  detail::ServiceLine next_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_REQUESTS_HPP
