// A client's connection to its server: made, greeted, and of no use any more once it has broken. Thread: one at a time, but for wait().
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exs/rpc.h"
#include "rpc/channel/link.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "rpc/fast/slot_memory.h"

namespace exs::rpc {

struct ServerAddress {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

// Whose queue the events come to.
struct EventsTo {
  exs_qhandle_t queue = EXS_QHANDLE_INVALID;  // none: the binding's
  exs_ahandle_t handle = nullptr;
};

class ClientBinding {
 public:
  // Null: errno, and error_text(). `slots`: as many as are wanted.
  static std::unique_ptr<ClientBinding> make(const ServerAddress& server,
                                             const exs_rpc_interface_t& interface, std::uint32_t slots,
                                             std::uint32_t longest, std::int64_t limit_ns,
                                             const EventsTo& events_to);
  ~ClientBinding();
  ClientBinding(const ClientBinding&) = delete;
  ClientBinding& operator=(const ClientBinding&) = delete;

  [[nodiscard]] Link& link() { return *link_; }
  [[nodiscard]] const SlotMemory& memory() const { return memory_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  // Of a message to the server.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] Verdict verdict(std::uint32_t procedure) const { return verdicts_[procedure]; }

  // Waits for events for link().take(). Less than 1: there are none, or errno.
  int wait(std::span<exs_event_t> events, std::int64_t limit_ns) {
    return exs_qwait(queue_, events.data(), static_cast<int>(events.size()), 1, limit_ns);
  }

 private:
  explicit ClientBinding(const EventsTo& events_to) : events_to_(events_to) {}
  int connect(const ServerAddress& server, std::int64_t limit_ns);
  int greet(const exs_rpc_interface_t& interface, std::uint32_t slots, std::uint32_t longest,
            std::int64_t end_ns);
  int take_welcome(const exs_rpc_interface_t& interface, std::uint32_t slots);
  int take_verdicts(const exs_rpc_interface_t& interface);
  int await_message(FrameType type, std::int64_t end_ns);

  const EventsTo events_to_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  SlotMemory memory_;
  std::unique_ptr<Link> link_;
  std::uint32_t slots_ = 0;
  std::uint32_t longest_ = 0;
  std::vector<Verdict> verdicts_;
};

}  // namespace exs::rpc
