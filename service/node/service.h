// A service of this node: who may send to it, and how far each sender's messages have been taken. Thread: holder of the node's lock.
//
// Design notes
//  1. A flow outlives its link for a while: a sender whose link breaks opens the flow again, and hears how far it was taken. What it
//     is known by are two numbers of the sender's choice, and the name that it proved.
//  2. Every message that comes in its turn is consumed, taken or not, so a full mailbox does not hold up what comes later.
//  3. Replies are messages of the flow's other direction, kept until the sender has taken them. A request counts among the messages of a
//     flow until it is answered, so there is always room for its reply.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "exs/service.h"
#include "service/names/capability.h"
#include "service/names/record.h"
#include "service/node/service_flow.h"

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
    std::size_t windows_max_bytes = 0;
    void* handle = nullptr;
    std::shared_ptr<std::mutex> node_lock;
  };
  Service(ServiceHost& host, Config config);
  // Its flows are told that it is nobody's now. Nothing is moving.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // FLOW: opens one, or refuses.
  void admit(Link& link, std::uint32_t alias, const Flow& flow, std::uint64_t taken);
  void link_has_gone(ServiceFlow& flow);
  // FLOW_END.
  void leave(ServiceFlow& flow);

  // Flows that nobody has opened again for long are forgotten then.
  void look_at_clock() { forget_old_ones(); }
  [[nodiscard]] std::int64_t due_ns() const noexcept;

  // 0, or errno: EAGAIN, ECANCELED, ENOMEM.
  int reply(const CallName& name, const Data& data, Transfer::Pieces longs, void* handle);
  // The program has not answered, and will not.
  void leave_unanswered(const CallName& name);
  void add_window(const Window& window) { windows_->add(window); }
  // Ends links on which exs uses memory of the program.
  void stop_moving();
  [[nodiscard]] bool is_moving() const;

  [[nodiscard]] Node& node() const noexcept { return *config_.node; }
  [[nodiscard]] const Key& key() const noexcept { return config_.key; }
  [[nodiscard]] const IdBytes& id() const noexcept { return id_; }
  // The signed record of where it is.
  [[nodiscard]] std::vector<std::uint8_t> record(const std::vector<sockaddr_storage>& addresses) const;
  [[nodiscard]] void* handle() const noexcept { return config_.handle; }
  [[nodiscard]] ServiceHost& host() const noexcept { return host_; }
  [[nodiscard]] WindowMemory& windows() const noexcept { return *windows_; }
  [[nodiscard]] const std::shared_ptr<Mailbox>& mailbox() const noexcept { return mailbox_; }
  [[nodiscard]] bool has_room() const noexcept {
    return mailbox_->count.load(std::memory_order_relaxed) < config_.mailbox_max;
  }

 private:
  [[nodiscard]] std::uint32_t rights_of(const Flow& flow, const Statement& about) const;
  ServiceFlow* find_or_make(const Flow& flow, bool& is_known);
  ServiceFlow* find_call(const CallName& name) const;
  void erase(FlowName name);
  void forget_old_ones();

  ServiceHost& host_;
  const Config config_;
  const IdBytes id_;
  const std::uint64_t instance_ = random_number();
  std::shared_ptr<WindowMemory> windows_;
  std::shared_ptr<Mailbox> mailbox_;
  std::map<FlowName, std::unique_ptr<ServiceFlow>> flows_;
  std::list<std::pair<FlowName, std::int64_t>>
      left_;  // flows without a link, and since when, the first left first
};

}  // namespace exs::svc

struct exs_svc final : exs::svc::Service {
  using Service::Service;
};
