// Who waits to have a service that is elsewhere still (move.h). It is a service itself, the door, of a name that only who has the key
// can know, and serves the present owner alone. Thread: holder of the node's lock.
//
// Design notes
//  1. The door is a service like any, but its events come here instead of to the program, and are looked at when the step ends.
//  2. What is prepared is nothing before the commit: it may come again, of this move or of another.
#pragma once

#include <vector>

#include "service/node/service.h"

namespace exs::svc {

// What an heir needs of its node.
class HeirHost {
 public:
  // The service is here from now on: its record, or nothing and errno.
  virtual std::vector<std::uint8_t> take_over(exs_svc& service) = 0;
  virtual void give_up_name(exs_svc& service) = 0;

 protected:
  ~HeirHost() = default;
};

class Heir final : public ServiceHost {
 public:
  Heir(HeirHost& node, ServiceHost& host, exs_svc& service, Service::Config door);
  Heir(const Heir&) = delete;
  Heir& operator=(const Heir&) = delete;
  ~Heir();

  [[nodiscard]] exs_svc& door() noexcept { return door_; }
  [[nodiscard]] bool is_of(const exs_svc& service) const noexcept { return service_ == &service; }
  // It has nothing more to wait for; its last answer may be under way.
  [[nodiscard]] bool is_done() const noexcept { return service_ == nullptr; }
  // At the end of each step.
  void go_on();

 private:
  struct Prepared {
    std::uint64_t token = 0;
    std::vector<exs_svc_event_t> events;
    OwnedMessage state;
  };

  // Services
  void tell(const exs_svc_event_t& event) override { told_.push_back(event); }
  void take_back(const CallName&) override {}
  Debts& debts() override { return host_.debts(); }
  FrameMemory& memory() override { return host_.memory(); }
  void wake_at(std::int64_t time_ns) override { host_.wake_at(time_ns); }

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

  HeirHost& node_;
  ServiceHost& host_;
  exs_svc* service_;
  std::vector<exs_svc_event_t> told_;
  std::optional<Prepared> prepared_;
  std::vector<Answer> answers_;  // for which there was no memory
  exs_svc door_;                 // last: it uses the others
};

}  // namespace exs::svc
