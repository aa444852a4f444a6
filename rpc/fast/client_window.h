// A client's window: memory that it offers to the server on a second connection, which also carries the bells. Thread: one at a time,
// except for look().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/status.h"
#include "exs/exs.h"
#include "rpc/fast/window.h"

namespace exs::rpc {

class ClientWindow {
 public:
  // Takes over the connected socket; its events go to `queue`. Returns NULL if there can be no window.
  static std::unique_ptr<ClientWindow> make(int socket, exs_qhandle_t queue, std::uint32_t slots,
                                            std::uint64_t token);
  ~ClientWindow();
  ClientWindow(const ClientWindow&) = delete;
  ClientWindow& operator=(const ClientWindow&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  // Returns true if the event ends the window; otherwise it is a bell from the server.
  [[nodiscard]] static bool is_end(const exs_event_t& event);

  // The reply of the slot may arrive here from now on, also if the link carries its call.
  void expect_reply(std::uint32_t slot) {
    set_expected(expected_.load(std::memory_order_relaxed) | bit(slot));
  }
  void forget_reply(std::uint32_t slot) {
    set_expected(expected_.load(std::memory_order_relaxed) & ~bit(slot));
  }
  // Sends a slot's call. After an error the window is unusable.
  Status send_call(std::uint32_t slot, const std::byte* message, std::size_t bytes);
  // Looks for replies for about this many rounds. Returns true if there is one. Thread: one at a time; other threads may send.
  [[nodiscard]] bool look(unsigned rounds) const;
  // Returns the next reply, valid until the next call. Empty: there is none.
  std::span<const std::byte> receive_reply();
  // Called before the thread sleeps: the server rings from now on. Returns false if there is a reply.
  [[nodiscard]] bool begin_sleep();
  void end_sleep();

 private:
  ClientWindow(int socket, exs_qhandle_t queue, std::uint32_t slots)
      : socket_(socket), queue_(queue), slots_(slots) {}
  Status offer(std::uint64_t token);
  [[nodiscard]] std::uint64_t bit(std::uint32_t slot) const {
    EXS_DEBUG_CHECK(slot < slots_);
    return std::uint64_t{1} << slot;
  }
  void set_expected(std::uint64_t slots) { expected_.store(slots, std::memory_order_relaxed); }
  [[nodiscard]] bool has_reply(std::uint32_t slot) const { return places_.reply_flag(slot) != taken_[slot]; }

  alignas(kLineBytes) std::array<std::byte, kInlineBytes> reply_;
  const int socket_;
  const exs_qhandle_t queue_;
  const std::uint32_t slots_;
  std::byte* memory_ = nullptr;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  WindowPlaces places_;
  std::atomic<std::uint64_t> expected_{0};        // slots with a pending reply
  std::array<std::uint32_t, kSlotsMax> taken_{};  // for each slot, the flag of the last reply
};

}  // namespace exs::rpc
