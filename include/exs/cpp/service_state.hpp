// What a service has on its loop.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_STATE_HPP
#define EXS_CPP_SERVICE_STATE_HPP

#include <exs/cpp/service_message.hpp>
#include <exs/cpp/service_node.hpp>

#include <deque>
#include <functional>
#include <new>

namespace exs::cpp::detail {

// A part of a reply, which waits for room.
class ServiceRoomWait : public ServiceWait {
 public:
  // Posts it. False: there is no room. Else it is settled, or under way.
  virtual bool begin() noexcept = 0;
};

class ServiceState final : public ServiceEnd {
 public:
  // `moves_here`: it is to be adopted.
  ServiceState(std::shared_ptr<ServiceNodeState> node, bool is_fenced, bool moves_here) noexcept
      : node_(std::move(node)), is_fenced_(is_fenced), moves_here_(moves_here) {}
  ~ServiceState() override {
    exs_svc_close(service_);
    drop_messages();
  }
  ServiceState(const ServiceState&) = delete;
  ServiceState& operator=(const ServiceState&) = delete;

  void open(exs_svc_t* service) {
    service_ = service;
    node_->add(service, *this);
  }
  // Closes the service, and then resumes all who wait. What nobody has asked for is treated as what has not been received.
  void close() noexcept {
    if (service_ == nullptr) return;
    const auto self = shared_from_this();
    node_->remove(service_);
    exs_svc_close(std::exchange(service_, nullptr));
    abandon(error_of(ECANCELED));
    node_->look_for_room_soon();
    node_->resume_settled();
  }
  [[nodiscard]] exs_svc_t* service() const noexcept { return service_; }
  [[nodiscard]] ServiceNodeState& node() const noexcept { return *node_; }
  [[nodiscard]] std::error_code why_not() const noexcept {
    const std::error_code error = node_->why_not();
    return error || service_ != nullptr ? error : error_of(ECANCELED);
  }
  // Why no more messages come; no error: they do.
  [[nodiscard]] std::error_code why_ended() const noexcept {
    const std::error_code error = why_not();
    return error ? error : why_ended_;
  }
  [[nodiscard]] bool is_open() const noexcept { return is_open_ && !why_ended(); }
  void on_suspended(std::function<void(std::error_code)> handler) { on_suspended_ = std::move(handler); }

  [[nodiscard]] bool has_message() const noexcept { return !messages_.empty(); }
  [[nodiscard]] ServiceMessage take_message() {
    const auto [message, is_request] = messages_.front();
    messages_.pop_front();
    return ServiceMessage(message, std::static_pointer_cast<ServiceState>(shared_from_this()), is_request);
  }
  [[nodiscard]] bool moves_here() const noexcept { return moves_here_; }
  [[nodiscard]] bool is_adopted() const noexcept { return is_adopted_; }
  [[nodiscard]] ServiceMessage take_state() noexcept { return std::move(moved_state_); }

  // False: the wait is settled already.
  bool wait(ServiceLine ServiceState::*line, ServiceWait& wait) noexcept {
    if (const std::error_code error = why_ended()) {
      wait.settle(error);
      return false;
    }
    return wait.stand_in(this->*line, node_->loop());
  }
  // Its last event is to come.
  void note_under_way(ServiceWait& call) noexcept { under_way_.add(call); }
  bool wait_for_room(ServiceRoomWait& reply) noexcept {
    node_->note_no_room();
    return reply.stand_in(replies_, node_->loop());
  }

  void take(const exs_svc_event_t& event) override {
    switch (event.type) {
      case EXS_SVC_EVT_MESSAGE:
      case EXS_SVC_EVT_REQUEST: return take_message(event);
      case EXS_SVC_EVT_SENT:
      case EXS_SVC_EVT_MOVED: return take_of_call(event);
      case EXS_SVC_EVT_OPEN: return set_open();
      case EXS_SVC_EVT_ADOPTED:
        is_adopted_ = true;
        moved_state_ = ServiceMessage(event.message);
        node_->settle_all(adoptions, {});
        return is_fenced_ ? void() : set_open();
      case EXS_SVC_EVT_SUSPENDED:
        is_open_ = false;
        if (on_suspended_) node_->call([&] { on_suspended_(error_of(event.error)); });
        return;
      case EXS_SVC_EVT_OVERTAKEN: return end(error_of(EADDRINUSE));
      default: exs_svc_release(event.message);
    }
  }
  bool begin_waiting() override {
    for (ServiceWait* next = replies_.first(); next != nullptr;) {
      auto& reply = static_cast<ServiceRoomWait&>(*next);
      next = next->next();
      if (reply.begin() && !reply.stands_in(under_way_)) node_->settle(reply, reply.error());
    }
    return !replies_.empty();
  }
  void detach() noexcept override { service_ = nullptr; }
  void abandon(std::error_code why) noexcept override {
    for (ServiceLine* const line : {&under_way_, &replies_, &nexts, &opens, &adoptions})
      node_->settle_all(*line, why);
    drop_messages();
  }

  ServiceLine nexts;      // who waits for the next message
  ServiceLine opens;      // until the service is open
  ServiceLine adoptions;  // until it is here

 private:
  void take_message(const exs_svc_event_t& event) {
    if (!nexts.empty()) return nexts.first()->take(event, *node_);
    try {
      messages_.emplace_back(event.message, event.type == EXS_SVC_EVT_REQUEST);
    } catch (const std::bad_alloc&) {
      exs_svc_release(event.message);  // a request ends with ECANCELED
    }
  }
  void take_of_call(const exs_svc_event_t& event) {
    ServiceWait* const call = under_way_.find(event.handle);
    if (call != nullptr) call->take(event, *node_);
    if (event.type != EXS_SVC_EVT_MOVED) return;
    if (event.error == 0) end(error_of(EADDRINUSE));
    if (event.error == EOWNERDEAD) end(error_of(EOWNERDEAD));
  }
  // It serves nobody here any more.
  void end(std::error_code why) noexcept {
    is_open_ = false;
    why_ended_ = why;
    for (ServiceLine* const line : {&nexts, &opens, &adoptions}) node_->settle_all(*line, why);
  }
  void set_open() noexcept {
    is_open_ = true;
    node_->settle_all(opens, {});
  }
  void drop_messages() noexcept {
    for (const auto& [message, is_request] : messages_) exs_svc_release(message);
    messages_.clear();
    moved_state_ = ServiceMessage();
  }

  const std::shared_ptr<ServiceNodeState> node_;
  const bool is_fenced_;
  const bool moves_here_;
  exs_svc_t* service_ = nullptr;
  bool is_open_ = false;
  bool is_adopted_ = false;
  std::error_code why_ended_;
  std::deque<std::pair<const exs_svc_message_t*, bool>> messages_;  // true: a request
  ServiceMessage moved_state_;
  ServiceLine under_way_;  // replies with long items, and moves
  ServiceLine replies_;    // that wait for room, each at its own peer
  std::function<void(std::error_code)> on_suspended_;
};

}  // namespace exs::cpp::detail

#endif  // EXS_CPP_SERVICE_STATE_HPP
