// A session that speaks the exs protocol: the provider's link, the protocol engine on top of it and its time
// limits. Created by a connect or for an accepted request; lives until closed or failed.
#pragma once

#include <memory>
#include <vector>

#include "event/engine/deadline.h"
#include "event/session/route.h"
#include "event/session/session.h"

namespace exs {

struct SessionOptions {
  proto::Wishes wishes;
  Choice choice;                            // of providers
  std::uint64_t connect_limit_ns = 0;       // whole connect; accepted: until the peer's first message
  std::uint32_t operations_max = 0;         // posted operations a direction
  std::uint64_t keepalive_ns = 0;           // 0: off
  TimeLimitWish send_limit, receive_limit;  // of accepted connections
  bool nodelay = false;                     // streams: small sends are not combined
};

class LinkSession final : public Session,
                          public CompletionClient,
                          public TurnClient,
                          public proto::OutcomeSink {
 public:
  LinkSession(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
              const SessionOptions& options);
  ~LinkSession() override;

  // --- Thread: any ---
  [[nodiscard]] proto::Agreement agreement() override;
  [[nodiscard]] std::string_view carrier() const noexcept override { return name_of(provider_); }
  [[nodiscard]] Explanation explanation() override;
  [[nodiscard]] const Ends* ends() const noexcept override;
  [[nodiscard]] bool allows_persistent() const noexcept override {
    return options_.wishes.kind == proto::SocketKind::kMessage;
  }

  // --- Thread: shard ---
  void connect(const sockaddr_storage& peer, socklen_t peer_bytes, ControlTarget target);
  // `done` is called once, now or when the ends have found out how they reach each other. An error: the
  // request could not be accepted, the session has ended.
  using Accepted = std::function<void(Status)>;
  // `why_no_device`: of the listening socket, see Route::decide.
  void accept(std::unique_ptr<ConnectionRequest> request, const proto::Agreement& agreement,
              const Reason& why_no_device, Accepted done);
  void start(proto::Direction direction, const proto::Operation& operation) override;
  void shutdown(int how, ControlTarget target) override;
  void close(std::uint64_t linger_ns, ControlTarget target) override;
  void abort(Status why) override;
  void flush() override;
  void set_nodelay(bool nodelay) override;
  void set_keepalive(std::uint64_t period_ns) override;
  proto::Cancelled cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                    int error) override;
  [[nodiscard]] proto::Readiness readiness() const override;
  [[nodiscard]] proto::Counters counters() const override;

  void complete(const Completion& completion) override;
  void timer_fired(std::uint64_t now_ns) override;
  void turn_ended() override;
  [[nodiscard]] bool still_wants(std::uint64_t deadline_ns) const override {
    return deadline_ns == deadline_ns_;
  }

 private:
  void stepped() override;
  void keep_turn();
  [[nodiscard]] bool is_stream() const { return options_.wishes.kind == proto::SocketKind::kStream; }
  std::uint32_t cancel_control(const proto::Selection& selection) override;
  void tell_shutdowns(int error);
  void look_for_signs_of_life(std::uint64_t now_ns);
  void take(const Completion& completion);

  // proto::OutcomeSink
  void completed(proto::Direction direction, const proto::Operation& operation,
                 const proto::Outcome& outcome) override {
    end_operation(direction, operation, outcome);
  }
  void used(proto::Direction /*direction*/, const proto::Operation& operation,
            const proto::Usage& usage) override {
    tell_use(operation, usage);
  }
  void ready() override;
  void peer_stopped_receiving() override { forbid_sending(); }
  void closed() override;
  void failed(Status why) override;

  [[nodiscard]] proto::Hello hello() const { return proto::make_hello(options_.wishes); }
  // --- link_session_setup.cc: how it finds its provider ---
  void try_next_way();
  Status connect_by_device();
  Status connect_by_network();
  void way_failed(Status why);
  void leave_way(Status why);
  void drop_link();
  [[nodiscard]] bool device_is_slow(std::uint64_t now_ns) const;
  void give_up_device();
  void established();
  Status change_link(const proto::Agreement& agreement);
  void end_connect(Status why);
  void take_request(std::optional<ProviderId> way);
  Status meet();
  void met(Status status);
  Status accept_as_it_came();
  Status accept_by_meeting();
  void accepted();
  void decline(Status why);
  void settle_route(ProviderId taken, const Reason& limit);
  void tell_route(int error);
  void arm(std::uint64_t deadline_ns);
  void end(Status why);

  const SessionOptions options_;

  // Thread: shard
  std::uint64_t token_ = 0;
  Route route_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<proto::Connection> connection_;
  // While a connect finds its provider.
  struct Outgoing {
    sockaddr_storage peer{};
    socklen_t peer_bytes = 0;
    std::uint64_t deadline_ns = 0;  // of all ways together
    ProviderId way = kNetwork;      // that is being tried
    bool network_tried = false;
    // If no way is left. What the network said counts: it reaches every peer.
    Status outcome{EOPNOTSUPP};

    [[nodiscard]] const sockaddr& address() const { return reinterpret_cast<const sockaddr&>(peer); }
    void failed(Status why) {
      if (way == kNetwork || !network_tried) outcome = why;
      network_tried = network_tried || way == kNetwork;
    }
  };
  std::unique_ptr<Outgoing> outgoing_;
  // While an incoming connection finds its provider.
  struct Incoming {
    std::unique_ptr<ConnectionRequest> request;
    proto::Agreement agreement;
    Accepted done;
    std::unique_ptr<Meeting> meeting;
  };
  std::unique_ptr<Incoming> incoming_;
  std::atomic<ProviderId> provider_{kNetwork};  // of the link, once it is established
  std::unique_ptr<Ends> ends_;  // where the descriptor does not know them; written before it is connected
  proto::Counters last_counters_;
  proto::Agreement last_agreement_;
  std::uint64_t deadline_ns_ = kNoDeadline;
  std::uint64_t keepalive_ns_ = 0;
  Deadline keepalive_due_{[this](std::uint64_t now_ns) { look_for_signs_of_life(now_ns); }};
  bool heard_ = false;  // from the peer, in this period
  int silent_periods_ = 0;
  ControlTarget connect_target_;
  std::vector<ControlTarget> shutdown_targets_;
  std::vector<ControlTarget> close_targets_;
  bool close_overdue_ = false;
  bool nodelay_ = false;
  bool in_turn_ = false;
  std::uint64_t turn_ns_ = 0;  // when the turn began, or the last one ended
};

}  // namespace exs
