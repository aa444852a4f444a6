// A session that speaks the exs protocol: the link of a provider, the protocol connection on top of it, and
// its time limits. A ConnectionSetup finds the link for a connect or an accepted request.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <vector>

#include "event/engine/deadline.h"
#include "event/session/burst.h"
#include "event/session/incoming_setup.h"
#include "event/session/keep_alive.h"
#include "event/session/session.h"
#include "event/session/tagged_end.h"
#include "event/session/window_maps.h"

namespace exs {

class LinkSession final : public Session,
                          public CompletionClient,
                          public BurstClient,
                          public SetupClient,
                          public MessageTaker,
                          public proto::OutcomeSink {
 public:
  LinkSession(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
              const SessionOptions& options);
  ~LinkSession() override;

  // --- Thread: any ---
  [[nodiscard]] proto::Agreement agreement() override;
  [[nodiscard]] std::string_view carrier() const noexcept override {
    const Provider* const provider = provider_;
    return provider == nullptr ? std::string_view() : provider->name();
  }
  [[nodiscard]] Explanation explanation() override;
  [[nodiscard]] const AddressPair* ends() const noexcept override;
  [[nodiscard]] bool allows_persistent() const noexcept override {
    return options_.wishes.kind == proto::SocketKind::kMessage;
  }

  // --- Thread: shard ---
  void connect(const sockaddr_storage& peer, socklen_t peer_bytes, ControlTarget target);
  // `why_no_device`: see Route::decide().
  void accept(AcceptableRequest acceptable, const Reason& why_no_device, IncomingSetup::Accepted done);
  // Call it before either: tagged messages go to `end`, and there are no events.
  void serve(TaggedEnd& end) noexcept { end_ = &end; }
  // The end gets no more notifications.
  void leave_end() noexcept { end_ = nullptr; }
  // Sends a tagged message that can leave at once. False: it must be posted; nothing has changed.
  bool send_tagged_now(const proto::Operation& operation);
  // Likewise a short one, in fewer steps where the link knows them.
  [[nodiscard]] proto::ShortSend send_tagged_short(const proto::Label& label, LocalSlice payload) noexcept {
    shard()->assert_held();
    const bool may = connection_ && link_->sends_short();
    return may ? connection_->send_short(label, payload) : proto::ShortSend::kNot;
  }
  // The connection reads only into registered memory.
  [[nodiscard]] bool needs_registered_memory() const noexcept {
    return link_ != nullptr && link_->needs_registered_memory();
  }
  // The outcome goes to the end, now or later.
  void post_tagged(const proto::Operation& operation);
  // Calls `step` with the connection. False: there is no connection.
  template <typename Step>
  bool with_connection(Step&& step) {
    shard()->assert_held();
    if (!connection_) return false;
    contained([&] {
      std::forward<Step>(step)(*connection_);
      after_step();
    });
    return true;
  }
  bool start(proto::Direction direction, const proto::Operation& operation) override;
  bool start_read(const proto::Operation& operation) override;
  void map_window(const ControlTarget& target) override;
  void shutdown(int how, ControlTarget target) override;
  void close(std::uint64_t linger_ns, ControlTarget target) override;
  void abort(Status why) override;
  void flush() override;
  void set_nodelay(bool nodelay) override;
  void set_keepalive(std::uint64_t period_ns) override;
  proto::Cancelled cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                    int error) override;
  [[nodiscard]] proto::Readiness readiness() const override;

  void complete(const Completion& completion) override;
  bool take(const ArrivingMessage& message) override;

 private:
  void after_step() override;
  void answer_maps();
  void tell_left();
  void burst_ended() override;
  [[nodiscard]] bool combines_posts() const noexcept override;
  [[nodiscard]] int why_no_connection() const;
  [[nodiscard]] proto::PostState post(proto::Direction direction, const proto::Operation& operation);
  void extend_burst();
  [[nodiscard]] bool is_stream() const { return options_.wishes.kind == proto::SocketKind::kStream; }
  [[nodiscard]] bool is_tagged() const { return options_.wishes.kind == proto::SocketKind::kTagged; }
  std::uint32_t cancel_control(const proto::Selection& selection) override;
  void peer_is_silent(KeepAlive::Silence silence);
  void limit_is_over();
  void handle(const Completion& completion);

  // proto::OutcomeSink
  void completed(proto::Direction direction, const proto::Operation& operation,
                 const proto::Outcome& outcome) override {
    if (end_ != nullptr) return end_->completed(operation, outcome);
    if (is_tagged()) return;  // no caller asks any more
    end_operation(direction, operation, outcome);
  }
  void used(proto::Direction /*direction*/, const proto::Operation& operation,
            const proto::Usage& usage) override {
    tell_use(operation, usage);
  }
  void ready() override;
  void peer_stopped_receiving() override {
    forbid_sending();
    peer_stopped_ = true;
  }
  void closed() override;
  void failed(Status why) override;

  // SetupClient
  std::uint64_t renew_token() override;
  void connected(Carrier carrier, std::uint64_t deadline_ns) override;
  Status accepted(Carrier carrier) override;
  void setup_failed(Status why) override { end(why); }

  [[nodiscard]] ConnectionSetup::Context setup_context();
  Status start_connection(proto::Role role, Carrier carrier);
  Status start_accepted(Carrier carrier);
  [[nodiscard]] std::string peer_name() const override { return text_of(whole(peer_)); }
  void tell_way() noexcept;
  void set_connected();
  void learn_peer();
  void keep_why(Status why) noexcept;
  void give_up_link(Status why);
  void end_connect(Status why);
  void arm(std::uint64_t deadline_ns) { limit_.set(*shard(), deadline_ns, shared_from_this()); }
  void begin_close(std::uint64_t linger_ns);
  void end(Status why);

  // Thread: shard. What every short message touches comes first, as in Session.
  std::unique_ptr<Link> link_;
  std::unique_ptr<proto::Connection> connection_;
  std::unique_ptr<WindowMaps> maps_;  // null: nothing was ever mapped
  TaggedEnd* end_ = nullptr;          // messages with tags: whose it is
  bool peer_stopped_ = false;         // it receives no more
  bool close_overdue_ = false;
  bool nodelay_ = false;
  KeepAlive keepalive_;
  Burst burst_;

  const SessionOptions options_;
  std::uint64_t token_ = 0;
  Route route_;
  std::shared_ptr<ConnectionSetup> setup_;          // null once there is a link
  std::atomic<const Provider*> provider_{nullptr};  // of the link, once that is established
  // Null: the descriptor knows them. Written before the state is kConnected.
  std::unique_ptr<AddressPair> ends_;
  InternetAddress peer_;
  proto::Agreement last_agreement_;
  // Limits the wait for the peer's first message, then the close.
  Deadline limit_{[this](std::uint64_t) { contained([this] { limit_is_over(); }); }};
  ControlTarget connect_target_;
};

}  // namespace exs
