// A node of services on a loop.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_NODE_HPP
#define EXS_CPP_SERVICE_NODE_HPP

#include <exs/cpp/service_names.hpp>
#include <exs/cpp/service_waits.hpp>

#include <exception>
#include <memory>
#include <unordered_map>

namespace exs::cpp {
namespace detail {

// A service or a peer of a node.
class ServiceEnd : public std::enable_shared_from_this<ServiceEnd> {
 public:
  virtual ~ServiceEnd() = default;
  // Settles the waits that the event is for. Resumes nobody.
  virtual void take(const exs_svc_event_t& event) = 0;
  // Tries the calls that wait for room again. True: some still wait.
  virtual bool begin_waiting() = 0;
  // The node is about to be closed, and this with it.
  virtual void detach() noexcept = 0;
  // Settles all waits.
  virtual void abandon(std::error_code why) noexcept = 0;
};

// What a node has on its loop. It outlives the node while a service, a peer or a coroutine refers to it.
//
// The node's descriptor is readable while exs_svc_wait() has work, limits included: the library posts an event to the node when one is
// due. So nothing here looks at the clock.
class ServiceNodeState final : private DescriptorWait,
                               private Timer,
                               public std::enable_shared_from_this<ServiceNodeState> {
 public:
  // `descriptor` is that of the node, which this closes.
  ServiceNodeState(Loop& loop, exs_svc_node_t* node, int descriptor) noexcept
      : DescriptorWait(descriptor, EPOLLIN), loop_(loop), node_(node) {}
  ServiceNodeState(const ServiceNodeState&) = delete;
  ServiceNodeState& operator=(const ServiceNodeState&) = delete;

  [[nodiscard]] exs_svc_node_t* node() const noexcept { return node_; }
  [[nodiscard]] Loop& loop() const noexcept { return loop_; }
  // Why nothing can be awaited; no error: all can.
  [[nodiscard]] std::error_code why_not() const noexcept {
    if (node_ == nullptr) return why_;
    return error_of(loop_.is_ending() ? ECANCELED : 0);
  }
  // A handle that no other call of this node has or had: an event of a call whose coroutine has gone is for nobody.
  [[nodiscard]] std::uintptr_t next_number() noexcept { return ++last_number_; }

  // `key`: the exs_svc_t or exs_svc_peer_t. Throws std::bad_alloc.
  void add(const void* key, ServiceEnd& end) { ends_.emplace(key, &end); }
  void remove(const void* key) noexcept { ends_.erase(key); }
  // The next step resumes it.
  void settle(ServiceWait& wait, std::error_code error) noexcept {
    wait.settle(error);
    settled_.add(wait);
  }
  void settle_all(ServiceLine& line, std::error_code error) noexcept {
    while (!line.empty()) settle(*line.first(), error);
  }
  // A coroutine that is resumed may end any of these objects, and this one.
  void resume_settled() {
    const auto self = shared_from_this();
    while (!settled_.empty()) {
      ServiceWait& first = *settled_.first();
      first.leave();
      first.resume();
    }
  }
  void step_soon() noexcept {
    if (steps_soon_ || node_ == nullptr || loop_.is_ending()) return;
    steps_soon_ = !loop_.timers().add(Clock::now(), *this);
    if (!steps_soon_) end(error_of(ENOMEM));
  }
  // A call has found no room. Acknowledgements make room, and so may the end of a peer, which also takes in what has come for others.
  void note_no_room() noexcept { waits_for_room_ = true; }
  void look_for_room_soon() noexcept {
    if (waits_for_room_) step_soon();
  }
  // Calls a function of the program, whose exception Loop::run() throws.
  template <typename Function>
  void call(const Function& function) noexcept {
    try {
      function();
    } catch (...) {
      throw_from_loop(std::current_exception());
    }
  }

  [[nodiscard]] std::error_code watch() noexcept {
    if (watches_) return {};
    const std::error_code error = loop_.descriptors().add(loop_.queue().handle(), *this);
    watches_ = !error;
    return error;
  }
  // Closes the node, and then resumes all who wait.
  void end(std::error_code why) noexcept {
    if (node_ == nullptr) return;
    const auto self = shared_from_this();
    if (std::exchange(watches_, false)) loop_.descriptors().remove(*this);
    if (std::exchange(steps_soon_, false)) loop_.timers().remove(*this);
    why_ = why;
    for (const auto& [key, end] : ends_) end->detach();
    exs_svc_node_close(std::exchange(node_, nullptr));
    for (const auto& [key, end] : ends_) end->abandon(why);
    ends_.clear();
    resume_settled();
  }

 private:
  // After so many events the loop has a turn.
  static constexpr int kEventsAtOnce = 256;

  void ready(std::error_code why) override {
    watches_ = false;
    why ? end(why) : step();
  }
  void expire(std::error_code why) override {
    steps_soon_ = false;
    if (!why) step();  // else the loop is ending, which ready() gets to know next
  }

  void step() {
    const auto self = shared_from_this();
    for (int count = 0; take_one(); ++count) {
      resume_settled();
      if (node_ == nullptr) return;
      if (count < kEventsAtOnce) continue;
      step_soon();
      break;
    }
    if (node_ == nullptr) return;
    if (waits_for_room_) begin_waiting();
    resume_settled();
    if (node_ == nullptr || loop_.is_ending()) return;
    if (const std::error_code error = watch()) end(error);
  }
  // One at a time: who is resumed may close the object of the next one. The call that finds none also sends acknowledgements that
  // nothing has carried along.
  bool take_one() {
    exs_svc_event_t event;
    const int count = exs_svc_wait(node_, &event, 1, 0);
    if (count < 0) step_soon();  // EINTR
    if (count < 1) return false;
    const void* const key = event.peer != nullptr ? static_cast<const void*>(event.peer) : event.service;
    const auto found = ends_.find(key);
    if (found == ends_.end()) {
      exs_svc_release(event.message);
    } else {
      const auto end = found->second->shared_from_this();
      end->take(event);
    }
    return true;
  }
  void begin_waiting() noexcept {
    waits_for_room_ = false;
    bool waits = false;
    for (const auto& [key, end] : ends_) waits = end->begin_waiting() || waits;
    waits_for_room_ = waits;
  }
  void throw_from_loop(std::exception_ptr thrown) noexcept {
    try {
      static_cast<void>(
          loop_.post([thrown = std::move(thrown)]() mutable { std::rethrow_exception(thrown); }));
    } catch (const std::bad_alloc&) {
    }
  }

  Loop& loop_;
  exs_svc_node_t* node_;
  std::unordered_map<const void*, ServiceEnd*> ends_;
  ServiceLine settled_;  // to be resumed
  std::uintptr_t last_number_ = 0;
  std::error_code why_;  // it has ended
  bool waits_for_room_ = false;
  bool watches_ = false;
  bool steps_soon_ = false;
};

}  // namespace detail

// One end of links, driven by a loop, which sleeps at once while it has a node, whatever the wait mode of its queue. The loop's thread
// alone uses the node, its services, its peers and its messages.
//
// Each co_await resumes exactly once: by its event, by its limit, or with ECANCELED when its object, its node or its loop is destroyed.
// If memory or descriptors run out so that the loop cannot watch the node, all that is awaited ends with ENOMEM or EMFILE.
class ServiceNode {
 public:
  // As exs_svc_node_open, but `struct_bytes` is set here. Throws std::system_error.
  explicit ServiceNode(Loop& loop, exs_svc_node_options_t options = {}) {
    options.struct_bytes = sizeof options;
    std::unique_ptr<exs_svc_node_t, Close> node(exs_svc_node_open(&options));
    if (node == nullptr) detail::throw_service_error();
    const int descriptor = exs_svc_node_fd(node.get());
    detail::check_service(descriptor);
    state_ = std::make_shared<detail::ServiceNodeState>(loop, node.get(), descriptor);
    static_cast<void>(node.release());
    if (const std::error_code error = loop.is_ending() ? error_of(ECANCELED) : state_->watch()) {
      state_->end(error);
      throw std::system_error(error, "a node of services");
    }
  }
  // Closes the node, its services and its peers, as exs_svc_node_close does, and resumes who waits for them with ECANCELED.
  ~ServiceNode() {
    if (state_ != nullptr) state_->end(error_of(ECANCELED));
  }
  ServiceNode(ServiceNode&& other) noexcept = default;
  ServiceNode& operator=(ServiceNode&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }

  // For calls of exs/service.h, but not exs_svc_wait(), nor calls that have events. NULL: it has ended with its loop.
  [[nodiscard]] exs_svc_node_t* handle() const noexcept { return state_->node(); }
  [[nodiscard]] Loop& loop() const noexcept { return state_->loop(); }
  // For the classes of this layer.
  [[nodiscard]] const std::shared_ptr<detail::ServiceNodeState>& state() const noexcept { return state_; }

 private:
  struct Close {
    void operator()(exs_svc_node_t* node) const noexcept { exs_svc_node_close(node); }
  };
  std::shared_ptr<detail::ServiceNodeState> state_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_NODE_HPP
