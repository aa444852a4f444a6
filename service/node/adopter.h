// A process that waits to adopt a service of another (move.h). It opens a service of its own, the endpoint. Only holders of the service's key
// can derive the endpoint's name, and it serves the present owner alone. Thread: holder of the node's lock.
//
// Design notes
//  1. The endpoint is a service like any other. But its events come here instead of to the program, and are handled when the step ends.
//  2. A PREPARE has no effect before its COMMIT, and may come again, for this move or another.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "base/room.h"
#include "base/status.h"
#include "service/node/service.h"

namespace exs::svc {

// What an adopter needs of its node.
class AdopterHost {
 public:
  // Makes the service one of this node. Returns its record.
  virtual Result<std::vector<std::uint8_t>> take_over(exs_svc& service) = 0;
  virtual void give_up_name(exs_svc& service) = 0;

 protected:
  ~AdopterHost() = default;
};

class Adopter final : public ServiceHost {
 public:
  Adopter(AdopterHost& node, ServiceHost& host, exs_svc& service, Service::Config endpoint);
  Adopter(const Adopter&) = delete;
  Adopter& operator=(const Adopter&) = delete;
  ~Adopter();

  [[nodiscard]] exs_svc& endpoint() noexcept { return endpoint_; }
  [[nodiscard]] bool is_of(const exs_svc& service) const noexcept { return service_ == &service; }
  // The adopter waits for nothing more; its last answer may still be under way.
  [[nodiscard]] bool is_done() const noexcept { return service_ == nullptr; }
  // Called at the end of each step.
  void go_on();

 private:
  struct Prepared {
    std::uint64_t token = 0;
    std::vector<exs_svc_event_t> events;
    OwnedMessage state;
  };

  // ServiceHost, of the endpoint
  void report(const exs_svc_event_t& event) override { told_.push_back(event); }
  void make_room_for_events(std::size_t count) override { make_room(told_, told_.size() + count); }
  void take_back(const CallName&) override {}
  PendingAcks& pending_acks() override { return host_.pending_acks(); }
  FrameMemory& memory() override { return host_.memory(); }
  void wake_at(std::uint64_t time_ns) override { host_.wake_at(time_ns); }

  struct Answer {
    CallName to;
    HandoverStatus status = HandoverStatus::kNotUnderstood;
    std::vector<std::uint8_t> record;
  };

  void take(const exs_svc_message_t& request);
  bool say(const Answer& answer);
  HandoverStatus prepare(const HandoverHead& head, const exs_svc_message_t& request);
  HandoverStatus commit(const HandoverHead& head, std::vector<std::uint8_t>& record);
  void forget_prepared();

  AdopterHost& node_;
  ServiceHost& host_;
  exs_svc* service_;
  std::vector<exs_svc_event_t> told_;
  std::optional<Prepared> prepared_;
  std::vector<Answer> answers_;  // not sent yet for want of memory
  exs_svc endpoint_;             // last, because it uses the other members
};

}  // namespace exs::svc
