// A service to send to, on any host.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_PEER_HPP
#define EXS_CPP_SERVICE_PEER_HPP

#include <exs/cpp/service_requests.hpp>

#include <cstring>

namespace exs::cpp {

class Service;

// Of ServicePeer::ping().
struct [[nodiscard]] ServicePong : Outcome {
  std::chrono::nanoseconds elapsed{0};

  std::chrono::nanoseconds value() const {
    Outcome::value();
    return elapsed;
  }
};
// Of ServicePeer::stats().
struct [[nodiscard]] ServiceStats : Outcome {
  exs_svc_stats_t stats{};

  exs_svc_stats_t value() const {
    Outcome::value();
    return stats;
  }
};

// A message of short items, which resumes when it has been copied.
class [[nodiscard]] ServiceSending final : public detail::ServiceCall {
 public:
  ServiceSending(std::shared_ptr<detail::ServicePeerState> peer, const ServiceItems& items)
      : ServiceCall(std::move(peer), items, {}) {}
  ServiceSending within(Clock::duration time) && noexcept {
    set_limit(time);
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    return peer().start(*this);
  }
  Outcome await_resume() const noexcept { return {error()}; }

 private:
  [[nodiscard]] bool is_request() const noexcept override { return false; }
  [[nodiscard]] bool has_event() const noexcept override { return false; }
  int post(exs_svc_peer_t* to) noexcept override {
    return exs_svc_send_short(to, items().data(), items().count());
  }
  void take(const exs_svc_event_t&, detail::ServiceNodeState&) noexcept override {}
};

// A message with long items, which resumes when they belong to the program again.
class [[nodiscard]] ServiceSendingLong final : public detail::ServiceCall {
 public:
  using ServiceCall::ServiceCall;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    return peer().start(*this);
  }
  Outcome await_resume() const noexcept { return {error()}; }

 private:
  [[nodiscard]] bool is_request() const noexcept override { return false; }
  [[nodiscard]] bool has_event() const noexcept override { return true; }
  int post(exs_svc_peer_t* to) noexcept override {
    return exs_svc_send_long(to, items().data(), items().count(), longs().data(), longs().count(), handle());
  }
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    node.settle(*this, error_of(event.error));
  }
};

namespace detail {

struct ReadPong {
  using Answer = ServicePong;
  static constexpr ServiceQuestions ServicePeerState::*kQuestions = &ServicePeerState::pings;
  static void read(const exs_svc_event_t& event, ServicePong& pong) noexcept {
    pong.elapsed = std::chrono::nanoseconds(event.elapsed_ns);
  }
};
struct ReadStats {
  using Answer = ServiceStats;
  static constexpr ServiceQuestions ServicePeerState::*kQuestions = &ServicePeerState::stats;
  static void read(const exs_svc_event_t& event, ServiceStats& answer) noexcept {
    const ServiceMessage message(event.message);
    const auto bytes = message.item(0);
    std::memcpy(&answer.stats, bytes.data(), std::min(bytes.size(), sizeof answer.stats));
  }
};

}  // namespace detail

template <typename Read>
class [[nodiscard]] ServiceAsking final : public detail::ServiceWait {
 public:
  explicit ServiceAsking(std::shared_ptr<detail::ServicePeerState> peer) noexcept : peer_(std::move(peer)) {}
  ServiceAsking within(Clock::duration time) && noexcept {
    set_limit(time);
    return std::move(*this);
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    set_waiter(waiter);
    return peer_->ask(Read::kQuestions, *this);
  }
  typename Read::Answer await_resume() noexcept {
    answer_.error = error();
    return answer_;
  }

 private:
  void take(const exs_svc_event_t& event, detail::ServiceNodeState& node) noexcept override {
    if (event.error == 0) Read::read(event, answer_);
    node.settle(*this, error_of(event.error));
  }

  std::shared_ptr<detail::ServicePeerState> peer_;
  typename Read::Answer answer_;
};

// Memory of a peer to which its service may write replies: exs_svc_return_alloc. It is freed with the peer at the latest.
class ServiceReturnMemory {
 public:
  ServiceReturnMemory(std::shared_ptr<detail::ServicePeerState> peer, std::size_t length)
      : peer_(std::move(peer)), size_(length) {
    memory_ = static_cast<std::byte*>(exs_svc_return_alloc(peer_->peer(), length));
    if (memory_ == nullptr) detail::throw_service_error();
  }
  ~ServiceReturnMemory() {
    if (peer_ != nullptr && peer_->peer() != nullptr) exs_svc_return_free(memory_);
  }
  // The other one has no peer afterwards.
  ServiceReturnMemory(ServiceReturnMemory&& other) noexcept = default;
  ServiceReturnMemory& operator=(ServiceReturnMemory&& other) noexcept {
    std::swap(peer_, other.peer_);
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {memory_, size_}; }

 private:
  std::shared_ptr<detail::ServicePeerState> peer_;
  std::byte* memory_ = nullptr;
  std::size_t size_;
};

struct ServicePeerOptions {
  const Service* from = nullptr;                  // the sender; needed only while the peer is opened
  const ServiceCapability* capability = nullptr;  // likewise
};

// The library finds the service, and connects to it, when there is something to send.
//
// Messages of one coroutine arrive in order. What is sent while 64 are pending waits for room: messages in their order, and requests in
// theirs.
class ServicePeer {
 public:
  // As exs_svc_peer_open. Throws std::system_error; ECANCELED the node has ended with its loop.
  inline ServicePeer(const ServiceNode& node, const ServiceId& id, const ServicePeerOptions& options = {});
  // Closes it, as exs_svc_peer_close does: messages that have not left are lost. All who wait resume with ECANCELED.
  ~ServicePeer() {
    if (state_ != nullptr) state_->close();
  }
  ServicePeer(ServicePeer&& other) noexcept = default;
  ServicePeer& operator=(ServicePeer&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }

  // NULL: its node has ended.
  [[nodiscard]] exs_svc_peer_t* handle() const noexcept { return state_->peer(); }

  // co_await gives an Outcome when the items are copied: EMSGSIZE; ENOMEM. Their fate later is a notice. A ping behind them is answered
  // when all have been accepted, or refused.
  [[nodiscard]] ServiceSending send(const ServiceItems& items) const { return {state_, items}; }
  // co_await gives an Outcome when the service has accepted the message, or with an error of EXS_SVC_EVT_SENT. It has no time limit: the
  // long items belong to exs until then.
  [[nodiscard]] ServiceSendingLong send_long(const ServiceItems& items, const ServiceLongs& longs) const {
    return {state_, items, longs};
  }
  // co_await gives a ServiceReply: EMSGSIZE, EBUSY, ENOMEM, and the errors of EXS_SVC_EVT_REPLY. All memory that it names must stay valid
  // until then. with_timeout() is a limit, as that of the options.
  [[nodiscard]] ServiceRequesting request(const ServiceItems& items,
                                          const ServiceRequestOptions& options = {}) const {
    return {state_, items, options};
  }
  // Its parts, one after the other.
  [[nodiscard]] ServiceParts request_parts(const ServiceItems& items,
                                           const ServiceRequestOptions& options = {}) const {
    return {state_, items, options};
  }
  // co_await gives a ServicePong: EACCES, and the errors of EXS_SVC_EVT_LOST. Pings go one at a time.
  [[nodiscard]] ServiceAsking<detail::ReadPong> ping() const {
    return ServiceAsking<detail::ReadPong>(state_);
  }
  // co_await gives a ServiceStats: EACCES, ENOMEM, and the errors of EXS_SVC_EVT_LOST. Likewise.
  [[nodiscard]] ServiceAsking<detail::ReadStats> stats() const {
    return ServiceAsking<detail::ReadStats>(state_);
  }
  // What is called when messages of send() were dropped, or may be lost. Loop::run() throws its exceptions.
  void on_notice(std::function<void(const ServiceNotice&)> handler) const {
    state_->on_notice(std::move(handler));
  }

  // Lets the service write into memory of alloc_return(); before the first of it. `return_max`: bytes of that memory, 0: 64 MiB. Throw
  // std::system_error.
  void trust_to_write(std::uint64_t return_max = 0) const {
    detail::check_service(exs_svc_peer_trust(state_->peer(), EXS_SVC_TRUST_WRITE, return_max));
  }
  [[nodiscard]] ServiceReturnMemory alloc_return(std::size_t length) const { return {state_, length}; }

 private:
  std::shared_ptr<detail::ServicePeerState> state_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_PEER_HPP
