// A service of this node: which senders it admits, and how far it has accepted their messages. Thread: holder of the node's lock.
//
// Design notes
//  1. A flow outlives its link for a while. A sender whose link breaks opens the flow again, and learns how far it was accepted. Two
//     numbers of the sender's choice and its proven name identify the flow.
//  2. Every message is consumed in its turn, accepted or refused, so a full mailbox does not delay later ones.
//  3. Replies are messages of the flow's other direction, kept until the sender has accepted them. A request counts among the messages of
//     its flow until it is answered, so there is always room for its reply.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "base/drive_lock.h"
#include "base/status.h"
#include "exs/service.h"
#include "service/names/capability.h"
#include "service/names/hold.h"
#include "service/names/record.h"
#include "service/node/service_flow.h"
#include "service/node/shares.h"

namespace exs::svc {

class Node;

class Service {
 public:
  struct Config {
    Node* node = nullptr;
    Key key;
    bool only_with_capability = false;
    std::uint32_t serial_min = 0;
    std::uint32_t mailbox_max = 0;
    std::uint32_t mailbox_each_max = 0;
    std::size_t windows_max_bytes = 0;
    std::size_t windows_each_max_bytes = 0;
    void* handle = nullptr;
    std::shared_ptr<Mutex> node_lock;
    std::optional<IdBytes> only_from;  // if set, the only sender admitted
    bool is_fenced = false;
  };
  Service(ServiceHost& host, Config config);
  // Closes the flows with reason kNobody. No transfer may be moving.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Handles FLOW: opens a flow or refuses it.
  void admit(Link& link, std::uint32_t alias, const Flow& flow, std::uint64_t taken);
  void link_has_gone(ServiceFlow& flow);
  // Handles FLOW_END.
  void leave(ServiceFlow& flow);

  // Forgets flows that have been without a link for too long.
  void run_timers() { forget_old_ones(); }
  [[nodiscard]] std::uint64_t due_ns() const noexcept;

  // EAGAIN, ECANCELED, ENOMEM.
  Status reply(const CallName& name, Data& data, Transfer::Pieces longs, void* handle);
  // The program released a request without answering it.
  void leave_unanswered(const CallName& name);
  void add_window(const Window& window) { windows_->add(window); }
  // Ends the links on which exs is using memory of the program.
  void stop_moving();
  [[nodiscard]] bool is_moving() const;

  bool has_name = false;  // the name thread answers for it

  // Fences and ends; service_hold.cc. `hold` belongs to the claim that follows. A fenced service serves nobody until its lease is
  // granted.
  std::shared_ptr<Hold> begin_hold(std::uint64_t now);
  [[nodiscard]] const Hold& hold() const noexcept { return *hold_; }
  // Tells senders to search again; nothing leaves or is accepted from now on.
  void suspend(std::uint64_t now);
  void resume();
  [[nodiscard]] bool is_suspended() const noexcept { return is_suspended_; }
  // The time at which the program is notified.
  [[nodiscard]] std::uint64_t suspension_due_ns() const noexcept { return suspension_due_ns_; }
  [[nodiscard]] bool is_suspension_due(std::uint64_t now) const noexcept { return now >= suspension_due_ns_; }
  void suspension_was_reported() noexcept { suspension_due_ns_ = kNeverNs; }
  // Events that the program gets when the service resumes.
  void keep_back(const exs_svc_event_t& event) { kept_back_.push_back(event); }
  std::vector<exs_svc_event_t> take_back_events() { return std::exchange(kept_back_, {}); }
  // Another process is the service: nobody is served or answered here any more.
  void end();

  // Moves; service_move.cc.
  // From now on nothing is accepted; senders repeat the rest when they open the flow again.
  void freeze();
  void thaw();
  [[nodiscard]] bool is_frozen() const noexcept { return is_frozen_; }
  // The program holds no messages but those of `waiting`, which it has not seen. `is_late`: held messages do not count.
  [[nodiscard]] bool is_drained(const std::vector<exs_svc_event_t>& waiting, bool is_late) const;
  void cut_short(const std::vector<exs_svc_event_t>& waiting);
  // The result points into the service and into `waiting`.
  [[nodiscard]] Handover moved(const std::vector<exs_svc_event_t>& waiting) const;
  // The service is elsewhere now: redirects all flows. Frames that may be under way stay until the program closes the service.
  void leave_to(Bytes record);
  // Takes over a moved service, or undoes that. `keeps` owns the bytes of `handover`. Returns false if memory ran out. The caller owns
  // the events.
  [[nodiscard]] bool resume(const HandoverHead& head, const Handover& handover,
                            const std::shared_ptr<Windows>& keeps, std::vector<exs_svc_event_t>& events);
  void forget_all();
  [[nodiscard]] bool has_flows() const noexcept { return !flows_.empty(); }
  [[nodiscard]] std::uint64_t instance() const noexcept { return instance_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return std::max(epoch_, hold_->raised_epoch()); }

  [[nodiscard]] Node& node() const noexcept { return *config_.node; }
  [[nodiscard]] const Key& key() const noexcept { return config_.key; }
  [[nodiscard]] const IdBytes& id() const noexcept { return id_; }
  // Returns a new signed record of the service's addresses.
  std::vector<std::uint8_t> record(const std::vector<sockaddr_storage>& addresses);
  [[nodiscard]] const std::vector<std::uint8_t>& last_record() const noexcept { return record_; }
  [[nodiscard]] void* handle() const noexcept { return config_.handle; }
  [[nodiscard]] ServiceHost& host() const noexcept { return host_; }
  [[nodiscard]] WindowMemory& windows() const noexcept { return *windows_; }
  // The load of the service.
  [[nodiscard]] Stats stats() const;
  void count_message() noexcept { ++messages_; }
  void count_reply() noexcept { ++replies_; }
  [[nodiscard]] bool has_room(const Share& share) const noexcept {
    return mailbox_->count.load(std::memory_order_relaxed) < config_.mailbox_max &&
           share.messages.load(std::memory_order_relaxed) < config_.mailbox_each_max;
  }
  [[nodiscard]] WindowQuota quota_of(const std::shared_ptr<Share>& share) const {
    return {{share, &share->bytes}, config_.windows_each_max_bytes};
  }

 private:
  [[nodiscard]] std::uint32_t rights_of(const Flow& flow, const Statement& about) const;
  ServiceFlow* find_or_make(const Flow& flow, const Principal& principal, bool& is_known);
  ServiceFlow* find_call(const CallName& name) const;
  void erase(FlowName name);
  void keep(ServiceFlow& flow, std::uint64_t now);
  void take_from_kept(ServiceFlow& flow);
  void forget_old_ones();
  void forget_oldest_of(const Share& share);
  void forget(FlowsKept::iterator one);
  void close_flows(const std::function<void(ServiceFlow&)>& say);
  void let_go_of_flows(Refusal why);

  ServiceHost& host_;
  const Config config_;
  const IdBytes id_;
  std::uint64_t instance_ = random_number();
  std::uint64_t epoch_ = 0;  // of the last record
  std::vector<std::uint8_t> record_;
  bool is_frozen_ = false;
  bool is_suspended_ = false;
  bool is_over_ = false;
  std::shared_ptr<Hold> hold_ = std::make_shared<Hold>(false);
  std::uint64_t suspension_due_ns_ = kNeverNs;
  std::vector<exs_svc_event_t> kept_back_;
  std::uint64_t opened_ns_ = 0;
  std::uint64_t messages_ = 0;  // since the instance began
  std::uint64_t replies_ = 0;
  std::shared_ptr<WindowMemory> windows_;
  std::shared_ptr<Mailbox> mailbox_;
  Shares shares_{mailbox_};
  std::map<FlowName, std::unique_ptr<ServiceFlow>> flows_;
  FlowsKept kept_;
};

}  // namespace exs::svc

struct exs_svc final : exs::svc::Service {
  using Service::Service;
};
