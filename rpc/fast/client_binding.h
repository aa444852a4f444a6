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

#include "base/check.h"
#include "base/status.h"
#include "exs/rpc.h"
#include "rpc/channel/message_link.h"
#include "rpc/channel/wake_up.h"
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
  exs_qhandle_t queue = EXS_QHANDLE_INVALID;  // invalid: the binding makes its own
  exs_ahandle_t handle = nullptr;
};

// The parameters of a binding.
struct BindingParameters {
  std::uint32_t slots;    // at most
  std::uint32_t longest;  // limit of a message to the client
  bool window;            // use a window if possible
  EventsTo events_to;
};

class ClientBinding {
 public:
  static Result<std::unique_ptr<ClientBinding>> make(const ServerAddress& server,
                                                     const exs_rpc_interface_t& interface,
                                                     const BindingParameters& parameters,
                                                     std::int64_t limit_ns);
  ~ClientBinding();
  ClientBinding(const ClientBinding&) = delete;
  ClientBinding& operator=(const ClientBinding&) = delete;

  [[nodiscard]] MessageLink& link() { return *link_; }
  [[nodiscard]] const SlotMemory& memory() const { return memory_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  // The limit of a message to the server.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] ProcedureVerdict verdict(std::uint32_t procedure) const { return verdicts_[procedure]; }

  // NULL: the link carries short messages, too.
  [[nodiscard]] ClientWindow* window() { return window_.get(); }
  // Sends the message of a slot. After an error the binding is broken.
  Status send(OutgoingMessage& message, std::uint32_t slot, std::size_t bytes) {
    EXS_CHECK(slot < slots_);
    if (window_ != nullptr) window_->expect_reply(slot);
    if (window_ == nullptr || message.is_long()) {
      rounds_.store(1, std::memory_order_relaxed);
      return message.send(*link_, bytes);
    }
    rounds_.store(kRounds, std::memory_order_relaxed);
    link_->count_sent(bytes);
    return window_->send_call(slot, message.message(), bytes);
  }

  // Makes the thread in wait() return. Thread: any. A full queue has events, so that thread does not sleep.
  void wake() const { wake_up(queue_, nullptr); }
  // Waits for events for link().take_event(), or for a reply for window()->receive_reply(). Returns their number; 0 or -1 with errno if
  // there are none.
  int wait(std::span<exs_event_t> events, std::int64_t limit_ns) {
    return window_ == nullptr ? wait_for_events(events, limit_ns) : wait_for_either(events, limit_ns);
  }

 private:
  // How the attempt to get a window goes on.
  enum class WindowNews { kThere, kNotThere, kConnectionEnded };

  explicit ClientBinding(const BindingParameters& parameters) : parameters_(parameters) {}
  Status connect(const ServerAddress& server, std::int64_t limit_ns);
  Status greet(const exs_rpc_interface_t& interface, std::uint64_t end_ns);
  Status send_greeting(const exs_rpc_interface_t& interface);
  Status take_welcome(const exs_rpc_interface_t& interface);
  Status take_verdicts(const exs_rpc_interface_t& interface);
  Status await_message(FrameType type, std::uint64_t end_ns);
  Status receive_next();
  Status get_window(const ServerAddress& server, std::uint64_t end_ns);
  Result<std::uint64_t> ask_for_token(std::uint64_t end_ns);
  WindowNews await_window(std::uint64_t end_ns);
  int wait_for_events(std::span<exs_event_t> events, std::int64_t limit_ns) const {
    return exs_qwait(queue_, events.data(), static_cast<int>(events.size()), 1, limit_ns);
  }
  int wait_for_either(std::span<exs_event_t> events, std::int64_t limit_ns);
  bool look_at_window();

  // Looks at the window between two looks at the queue, if the window carried the last call.
  static constexpr unsigned kRounds = 32;

  const BindingParameters parameters_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  SlotMemory memory_;
  std::unique_ptr<MessageLink> link_;
  std::uint32_t slots_ = 0;
  std::uint32_t longest_ = 0;
  std::vector<ProcedureVerdict> verdicts_;
  std::unique_ptr<ClientWindow> window_;
  std::atomic<unsigned> rounds_{kRounds};
};

}  // namespace exs::rpc
