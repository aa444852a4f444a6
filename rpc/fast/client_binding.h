// A client's connection to its server: made, greeted, and of no use any more once it has broken. Thread: one at a time, but for wait().
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exs/rpc.h"
#include "rpc/channel/link.h"
#include "rpc/fast/client_window.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "rpc/fast/outgoing.h"
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

// What a client wants of its connection.
struct BindingWish {
  std::uint32_t slots;    // at most
  std::uint32_t longest;  // message to the client
  bool window;            // if there is one to be had
  EventsTo events_to;
};

class ClientBinding {
 public:
  // Null: errno, and error_text().
  static std::unique_ptr<ClientBinding> make(const ServerAddress& server,
                                             const exs_rpc_interface_t& interface, const BindingWish& wish,
                                             std::int64_t limit_ns);
  ~ClientBinding();
  ClientBinding(const ClientBinding&) = delete;
  ClientBinding& operator=(const ClientBinding&) = delete;

  [[nodiscard]] Link& link() { return *link_; }
  [[nodiscard]] const SlotMemory& memory() const { return memory_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  // Of a message to the server.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] Verdict verdict(std::uint32_t procedure) const { return verdicts_[procedure]; }

  // Null: short messages go by the link, too.
  [[nodiscard]] ClientWindow* window() { return window_.get(); }
  // The message of a slot. False: errno, and the binding is of no use any more.
  bool send(Outgoing& message, std::uint32_t slot, std::size_t bytes) {
    if (window_ != nullptr) window_->expect(slot);
    if (window_ == nullptr || message.is_long()) {
      rounds_ = 1;
      return message.send(*link_, bytes);
    }
    rounds_ = kRounds;
    link_->sent_bytes += bytes;
    return window_->send(slot, message.message(), bytes);
  }

  // Waits for events for link().take(), or a reply for window()->receive(). Less than 1: there are no events, or errno.
  int wait(std::span<exs_event_t> events, std::int64_t limit_ns) {
    return window_ == nullptr ? wait_for_events(events, limit_ns) : wait_for_either(events, limit_ns);
  }

 private:
  explicit ClientBinding(const BindingWish& wish) : wish_(wish) {}
  int connect(const ServerAddress& server, std::int64_t limit_ns);
  int greet(const exs_rpc_interface_t& interface, std::int64_t end_ns);
  int take_welcome(const exs_rpc_interface_t& interface);
  int take_verdicts(const exs_rpc_interface_t& interface);
  int await_message(FrameType type, std::int64_t end_ns);
  int get_window(const ServerAddress& server, std::int64_t end_ns);
  int ask_for_token(std::int64_t end_ns, std::uint64_t& token);
  bool await_window(std::int64_t end_ns, bool& is_there);
  int wait_for_events(std::span<exs_event_t> events, std::int64_t limit_ns) {
    return exs_qwait(queue_, events.data(), static_cast<int>(events.size()), 1, limit_ns);
  }
  int wait_for_either(std::span<exs_event_t> events, std::int64_t limit_ns);
  bool look_at_window();

  // So often a window is looked at between two looks at the queue, if the last call went by it.
  static constexpr unsigned kRounds = 32;

  const BindingWish wish_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  SlotMemory memory_;
  std::unique_ptr<Link> link_;
  std::uint32_t slots_ = 0;
  std::uint32_t longest_ = 0;
  std::vector<Verdict> verdicts_;
  std::unique_ptr<ClientWindow> window_;
  std::atomic<unsigned> rounds_{kRounds};
};

}  // namespace exs::rpc
