// A listening socket on its shard: matches the requests of peers with posted accepts, in order. An accepted
// connection lives on the home shard of the queue that its accept named.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/fifo.h"
#include "event/session/link_session.h"

namespace exs {

struct AcceptorOptions {
  SessionOptions session;  // what accepted connections inherit
  std::uint32_t backlog = 0;
};

// The places at which a listening socket listens.
struct ListeningPoints {
  struct OfProvider {
    Role role = Role::kDevice;  // of the provider
    std::unique_ptr<ProcessListener> listening;
  };
  bool network = true;                  // the descriptor itself listens
  std::vector<OfProvider> by_provider;  // of providers that have listeners of their own
  Reason why_no_device;                 // why no peer can come by an RDMA device, where that is known
};

// Puts an accepted session into the descriptor table. Thread: any; must not wait.
using RegisterSession = std::function<void(const std::shared_ptr<Session>&)>;

class Acceptor : public CompletionClient, public std::enable_shared_from_this<Acceptor> {
 public:
  class SlotWaiter;
  struct Accept {
    ControlTarget target;
    exs_acceptaddr_t* address = nullptr;
    std::shared_ptr<SlotWaiter> waiter{};  // of a multishot accept
    bool more = false;                     // of one: a connection of it, with a slot of its own
  };

  Acceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor, ListeningPoints points,
           const AcceptorOptions& options, RegisterSession register_session);

  // --- Thread: any ---
  [[nodiscard]] const std::shared_ptr<Shard>& shard() const noexcept { return shard_; }

  // --- Thread: shard ---
  void post(const Accept& accept);
  // Stays until it is cancelled: each connection takes another slot of the queue.
  void post_multishot(const ControlTarget& target);
  // Pushes EXS_EVT_POLL when a peer waits for an accept.
  void poll(const ControlTarget& target, std::uint32_t events);
  // Cancels open accepts and polls, and returns how many match.
  std::uint32_t cancel(const proto::Selection& selection);
  // Ends open accepts and polls with ECANCELED, then EXS_EVT_CLOSE (when `target` has a queue).
  void close(const ControlTarget& target);
  void complete(const Completion& completion) override;

 protected:
  class Handover;
  static void established(Handover& handover, const Result<std::shared_ptr<Session>>& session);
  [[nodiscard]] const std::shared_ptr<KernelDescriptor>& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const AcceptorOptions& options() const noexcept { return options_; }
  // Names the listener of the network in completions.
  [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
  [[nodiscard]] bool waited_for() const noexcept { return !accepts_.empty() || !polls_.empty(); }
  // Gives requests to accepts, and answers polls.
  void step();
  Status listen_once() { return listeners_.empty() ? listen() : Status(); }
  // The oldest request that is acceptable; null: there is none.
  [[nodiscard]] AcceptableRequest take_request() {
    hold_request();
    return std::exchange(held_, {});
  }
  [[nodiscard]] const Reason& why_no_device() const noexcept { return points_.why_no_device; }
  void fail_accepts(int error);

 private:
  // The kinds of acceptors differ in where requests come from, which of them are acceptable, and what becomes
  // of those. Thread: shard; establish(): the shard of the connection.
  virtual Result<std::unique_ptr<PortListener>> open_listener();
  virtual std::unique_ptr<ConnectionRequest> next_acceptable(PortListener& listener,
                                                             proto::Agreement& agreement);
  // The session of the connection goes to established(), now or later, on the shard of the connection.
  virtual void establish(Shard& shard, AcceptableRequest acceptable,
                         const std::shared_ptr<Handover>& handover);

  // An accept that is posted now would complete at once.
  virtual bool has_request() { return hold_request(); }

  void tell_refused(const std::string& peer, Status why) const;
  Status listen();
  Status listen_on_network();
  Status listen_on(const ListeningPoints::OfProvider& point);
  [[nodiscard]] ListenParameters listen_parameters(ProcessListener* listening) const;
  void match();
  [[nodiscard]] std::optional<Accept> next_accept();
  void answer_polls();
  bool hold_request();
  void finish(const Accept& accept, int error, int new_socket);
  Status take_in(const Accept& accept);
  [[nodiscard]] bool match_once();
  void fail_first_accept(int error);
  // std::bad_alloc: the accept is still the caller's, and the request has gone.
  void hand_over(const Accept& accept, AcceptableRequest acceptable);
  bool serve(const Accept& accept, const Result<std::shared_ptr<Session>>& session);
  void handed_over(const Accept& accept, bool served);
  void finish_close();

  const std::shared_ptr<Shard> shard_;
  const std::shared_ptr<KernelDescriptor> descriptor_;
  const AcceptorOptions options_;
  const RegisterSession register_session_;

  struct AttachedListener {
    std::unique_ptr<PortListener> listener;
    std::uint64_t token = 0;
    Role role = Role::kNetwork;
  };

  // Thread: shard. Other shards read `why_no_device`, which does not change once there is a listener.
  FarQueues far_queues_;
  ListeningPoints points_;
  std::vector<AttachedListener> listeners_;
  std::size_t next_listener_ = 0;  // round robin
  std::uint64_t token_ = 0;
  bool closed_ = false;
  bool matching_ = false;
  Fifo<Accept> accepts_;
  AcceptableRequest held_;  // the next request, if a poll looked for one
  OpenPolls polls_;
  std::size_t handing_over_ = 0;  // accepts on another shard, or waiting for their provider
  std::vector<ControlTarget> close_targets_;
};

}  // namespace exs
