// A service of this node: who may send to it, and how far each sender's messages have been taken. Thread: holder of the node's lock.
//
// Design notes
//  1. A flow outlives its link for a while: a sender whose link breaks opens the flow again, and hears how far it was taken. What it
//     is known by are two numbers of the sender's choice, and the name that it proved.
//  2. Every message that comes in its turn is consumed, taken or not, so a full mailbox does not hold up what comes later.
#pragma once

#include <list>
#include <map>
#include <memory>

#include "exs/service.h"
#include "service/flow/incoming.h"
#include "service/names/capability.h"
#include "service/names/record.h"
#include "service/node/link.h"
#include "service/node/message.h"

namespace exs::svc {

class Node;
class Service;

struct ServiceFlow {
  using Name = std::pair<std::uint64_t, std::uint64_t>;  // the sender's node, and its number there

  Service* service = nullptr;
  Name name;
  IdBytes from{};
  std::uint32_t rights = 0;
  Incoming incoming;
  Link* link = nullptr;  // on which it is open
  std::uint32_t alias = 0;
  bool is_noted = false;  // among those that owe an ACK
};

class ServiceHost {
 public:
  virtual void tell(const exs_svc_event_t& event) = 0;
  // The flow has something to acknowledge: acknowledge() follows in this step, unless it is forgotten before.
  virtual void note(ServiceFlow& flow) = 0;
  virtual void forget(ServiceFlow& flow) = 0;

 protected:
  ~ServiceHost() = default;
};

class Service {
 public:
  struct Config {
    Node* node = nullptr;
    Key key;
    bool only_with_capability = false;
    std::uint32_t serial_min = 0;
    std::uint32_t mailbox_max = 0;
    void* handle = nullptr;
  };
  Service(ServiceHost& host, Config config);
  // Its flows are told that it is nobody's now.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // FLOW: opens one, or refuses.
  void admit(Link& link, std::uint32_t alias, const Flow& flow);
  // DATA, PING, FLOW_END of an open flow.
  void frame_arrived(ServiceFlow& flow, const Header& header, Bytes frame);
  void acknowledge(ServiceFlow& flow);
  void link_has_gone(ServiceFlow& flow);

  [[nodiscard]] Node& node() const noexcept { return *config_.node; }
  [[nodiscard]] const Key& key() const noexcept { return config_.key; }
  [[nodiscard]] const IdBytes& id() const noexcept { return id_; }
  // The signed record of where it is.
  [[nodiscard]] std::vector<std::uint8_t> record(const std::vector<sockaddr_storage>& addresses) const;
  [[nodiscard]] void* handle() const noexcept { return config_.handle; }

 private:
  [[nodiscard]] std::uint32_t rights_of(const Flow& flow, const Statement& about) const;
  ServiceFlow* find_or_make(const Flow& flow, std::uint32_t rights);
  void take(ServiceFlow& flow, const Header& header, Bytes frame);
  void leave(ServiceFlow& flow);
  void erase(ServiceFlow::Name name);
  void forget_old_ones();

  ServiceHost& host_;
  const Config config_;
  const IdBytes id_;
  const std::uint64_t instance_ = random_number();
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>(0U);
  std::map<ServiceFlow::Name, std::unique_ptr<ServiceFlow>> flows_;
  std::list<std::pair<ServiceFlow::Name, std::int64_t>>
      left_;  // flows without a link, and since when, the first left first
};

}  // namespace exs::svc

struct exs_svc final : exs::svc::Service {
  using Service::Service;
};
