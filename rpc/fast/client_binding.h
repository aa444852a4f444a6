// A client's connection to its server. It is unusable once it has broken. Thread: one at a time, except for wait().
// SPDX-License-Identifier: BSD-2-Clause
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

// The queue and the handle of the events.
struct EventsTo {
  exs_qhandle_t queue = EXS_QHANDLE_INVALID;  // none: the binding makes its own
  exs_ahandle_t handle = nullptr;
};

// The parameters of a binding.
struct BindingWish {
  std::uint32_t slots;    // at most
  std::uint32_t longest;  // limit of a message to the client
  bool window;            // use a window if possible
  EventsTo events_to;
};

class ClientBinding {
 public:
  // Returns NULL with errno and error_text().
  static std::unique_ptr<ClientBinding> make(const ServerAddress& server,
                                             const exs_rpc_interface_t& interface, const BindingWish& wish,
                                             std::int64_t limit_ns);
  ~ClientBinding();
  ClientBinding(const ClientBinding&) = delete;
  ClientBinding& operator=(const ClientBinding&) = delete;

  [[nodiscard]] Link& link() { return *link_; }
  [[nodiscard]] const SlotMemory& memory() const { return memory_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  // The limit of a message to the server.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] Verdict verdict(std::uint32_t procedure) const { return verdicts_[procedure]; }

  // NULL: the link carries short messages, too.
  [[nodiscard]] ClientWindow* window() { return window_.get(); }
  // Sends the message of a slot. Returns false with errno if the binding is broken.
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

  // Makes the thread in wait() return. Thread: any. A full queue has events, so that thread does not sleep.
  void wake() const { exs_qpost(queue_, nullptr, nullptr); }
  // Waits for events for link().take(), or for a reply for window()->receive(). Returns their number; 0 or -1 with errno if there are
  // none.
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

  // Looks at the window between two looks at the queue, if the window carried the last call.
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
