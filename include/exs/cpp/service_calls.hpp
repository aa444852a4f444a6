// What a peer has on its loop, and the calls of it that coroutines await.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_CALLS_HPP
#define EXS_CPP_SERVICE_CALLS_HPP

#include <exs/cpp/service_message.hpp>
#include <exs/cpp/service_node.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <new>

namespace exs::cpp {

// The fate of messages whose co_await resumed when they were copied.
struct ServiceNotice {
  int type = 0;  // EXS_SVC_EVT_DROPPED, EXS_SVC_EVT_RESTART or EXS_SVC_EVT_LOST
  std::error_code error;
  // Number of messages; 0: there were only requests and questions, which have their own errors.
  std::uint64_t count = 0;
};

namespace detail {

class ServiceCall;

// Pings, or questions for statistics: one at a time, in their order.
//
// A LOST that was made before the question and taken after it ends the question, too, since nothing tells the two apart. The peer then
// still has it (EAGAIN), and the next one waits for its answer.
class ServiceQuestions {
 public:
  explicit ServiceQuestions(int (*ask)(exs_svc_peer_t*)) noexcept : ask_(ask) {}

  // False: it is settled.
  bool start(ServiceWait& wait, exs_svc_peer_t* peer, ServiceNodeState& node) noexcept {
    if (!wait.stand_in(waiting_, node.loop())) return false;
    if (is_pending_ || waiting_.first() != &wait) return true;
    const std::error_code error = ask_for(wait, peer);
    if (error) wait.settle(error);
    return !error;
  }
  // An answer, or the loss of the peer.
  void take(const exs_svc_event_t& event, exs_svc_peer_t* peer, ServiceNodeState& node) noexcept {
    is_pending_ = false;
    asked_.empty() ? exs_svc_release(event.message) : asked_.first()->take(event, node);
    while (!is_pending_ && !waiting_.empty()) {
      ServiceWait& next = *waiting_.first();
      if (const std::error_code error = ask_for(next, peer)) node.settle(next, error);
    }
  }
  void abandon(std::error_code why, ServiceNodeState& node) noexcept {
    node.settle_all(asked_, why);
    node.settle_all(waiting_, why);
  }

 private:
  std::error_code ask_for(ServiceWait& wait, exs_svc_peer_t* peer) noexcept {
    const std::error_code error = error_after(ask_(peer));
    is_pending_ = !error || error == std::errc::resource_unavailable_try_again;
    if (!error) asked_.add(wait);
    return is_pending_ ? std::error_code() : error;
  }

  int (*const ask_)(exs_svc_peer_t*);
  bool is_pending_ = false;
  ServiceLine asked_;  // at most one; none: it has reached its limit
  ServiceLine waiting_;
};

// What a peer has on its loop.
class ServicePeerState final : public ServiceEnd {
 public:
  explicit ServicePeerState(std::shared_ptr<ServiceNodeState> node) noexcept : node_(std::move(node)) {}
  ~ServicePeerState() override { exs_svc_peer_close(peer_); }
  ServicePeerState(const ServicePeerState&) = delete;
  ServicePeerState& operator=(const ServicePeerState&) = delete;

  void open(exs_svc_peer_t* peer) {
    peer_ = peer;
    node_->add(peer, *this);
  }
  // Closes the peer, and then resumes all who wait.
  void close() noexcept {
    if (peer_ == nullptr) return;
    const auto self = shared_from_this();
    node_->remove(peer_);
    exs_svc_peer_close(std::exchange(peer_, nullptr));
    abandon(error_of(ECANCELED));
    node_->look_for_room_soon();
    node_->resume_settled();
  }
  [[nodiscard]] exs_svc_peer_t* peer() const noexcept { return peer_; }
  [[nodiscard]] ServiceNodeState& node() const noexcept { return *node_; }
  [[nodiscard]] std::error_code why_not() const noexcept {
    const std::error_code error = node_->why_not();
    return error || peer_ != nullptr ? error : error_of(ECANCELED);
  }
  void on_notice(std::function<void(const ServiceNotice&)> handler) { on_notice_ = std::move(handler); }

  // These return false if the wait is settled already.
  inline bool start(ServiceCall& call) noexcept;
  bool ask(ServiceQuestions ServicePeerState::*questions, ServiceWait& wait) noexcept {
    const std::error_code error = why_not();
    if (error) wait.settle(error);
    return !error && (this->*questions).start(wait, peer_, *node_);
  }
  inline void cancel(ServiceCall& call) noexcept;

  void take(const exs_svc_event_t& event) override {
    switch (event.type) {
      case EXS_SVC_EVT_REPLY:
      case EXS_SVC_EVT_SENT: return take_of_call(event);
      case EXS_SVC_EVT_PONG: return pings.take(event, peer_, *node_);
      case EXS_SVC_EVT_STATS: return stats.take(event, peer_, *node_);
      case EXS_SVC_EVT_LOST:
        pings.take(event, peer_, *node_);
        stats.take(event, peer_, *node_);
        [[fallthrough]];
      case EXS_SVC_EVT_DROPPED:
      case EXS_SVC_EVT_RESTART:
        if (on_notice_) node_->call([&] { on_notice_({event.type, error_of(event.error), event.count}); });
        return;
      default: exs_svc_release(event.message);
    }
  }
  inline bool begin_waiting() override;
  void detach() noexcept override { peer_ = nullptr; }
  void abandon(std::error_code why) noexcept override {
    for (ServiceLine* const line : {&under_way_, &sends_, &requests_}) node_->settle_all(*line, why);
    pings.abandon(why, *node_);
    stats.abandon(why, *node_);
  }

  ServiceQuestions pings{exs_svc_ping};
  ServiceQuestions stats{exs_svc_stats};

 private:
  enum class Begun { kEnded, kUnderWay, kNoRoom };
  inline Begun begin(ServiceCall& call) noexcept;
  inline bool begin_each(ServiceLine& line) noexcept;
  void take_of_call(const exs_svc_event_t& event) {
    ServiceWait* const call = under_way_.find(event.handle);
    if (call == nullptr) return exs_svc_release(event.message);
    call->take(event, *node_);
  }

  const std::shared_ptr<ServiceNodeState> node_;
  exs_svc_peer_t* peer_ = nullptr;
  ServiceLine under_way_;  // whose events are to come
  ServiceLine sends_;      // those that wait for room; requests may wait while there is room for messages
  ServiceLine requests_;
  std::function<void(const ServiceNotice&)> on_notice_;
};

// A message or a request, which waits for room if 64 are pending.
class ServiceCall : public ServiceWait {
 public:
  ServiceCall(std::shared_ptr<ServicePeerState> peer, const ServiceItems& items, const ServiceLongs& longs)
      : peer_(std::move(peer)), items_(items), longs_(longs) {}

  [[nodiscard]] virtual bool is_request() const noexcept = 0;
  // Its end is an event.
  [[nodiscard]] virtual bool has_event() const noexcept = 0;
  // The call of exs/service.h, with handle().
  virtual int post(exs_svc_peer_t* peer) noexcept = 0;

 protected:
  [[nodiscard]] ServicePeerState& peer() const noexcept { return *peer_; }
  // Else it has been moved away.
  [[nodiscard]] bool has_peer() const noexcept { return peer_ != nullptr; }
  [[nodiscard]] const ServiceItems& items() const noexcept { return items_; }
  [[nodiscard]] const ServiceLongs& longs() const noexcept { return longs_; }

 private:
  std::shared_ptr<ServicePeerState> peer_;
  ServiceItems items_;
  ServiceLongs longs_;
};

inline ServicePeerState::Begun ServicePeerState::begin(ServiceCall& call) noexcept {
  call.set_number(node_->next_number());
  const std::error_code error = error_after(call.post(peer_));
  if (error == std::errc::resource_unavailable_try_again) return Begun::kNoRoom;
  if (error || !call.has_event()) {
    call.settle(error);
    return Begun::kEnded;
  }
  under_way_.add(call);
  return Begun::kUnderWay;
}

inline bool ServicePeerState::start(ServiceCall& call) noexcept {
  if (const std::error_code error = why_not()) {
    call.settle(error);
    return false;
  }
  ServiceLine& line = call.is_request() ? requests_ : sends_;
  const Begun begun = line.empty() ? begin(call) : Begun::kNoRoom;
  if (begun != Begun::kNoRoom) return begun == Begun::kUnderWay;
  node_->note_no_room();
  return call.stand_in(line, node_->loop());
}

inline bool ServicePeerState::begin_waiting() {
  const bool sends_wait = begin_each(sends_);
  return begin_each(requests_) || sends_wait;
}

inline bool ServicePeerState::begin_each(ServiceLine& line) noexcept {
  while (!line.empty()) {
    auto& first = static_cast<ServiceCall&>(*line.first());
    const Begun begun = begin(first);
    if (begun == Begun::kNoRoom) return true;
    if (begun == Begun::kEnded) node_->settle(first, first.error());
  }
  return false;
}

// Its last event still comes.
inline void ServicePeerState::cancel(ServiceCall& call) noexcept {
  if (call.stands_in(requests_)) {
    node_->settle(call, error_of(ECANCELED));
    return node_->step_soon();
  }
  if (peer_ == nullptr || !call.stands_in(under_way_)) return;
  exs_svc_cancel(peer_, call.handle());
  node_->look_for_room_soon();
}

}  // namespace detail
}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_CALLS_HPP
