// A client's window: its memory, offered to the server on a connection of its own, by which they ring each other, too. Thread: one at a
// time, but for look().
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "exs/exs.h"
#include "rpc/fast/window.h"

namespace exs::rpc {

class ClientWindow {
 public:
  // Takes the connected socket; its events go to `queue`. Null: errno.
  static std::unique_ptr<ClientWindow> make(int socket, exs_qhandle_t queue, std::uint32_t slots,
                                            std::uint64_t token);
  ~ClientWindow();
  ClientWindow(const ClientWindow&) = delete;
  ClientWindow& operator=(const ClientWindow&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  // An event of the socket says that the window is of no use any more; else that the server rang.
  static bool is_end(const exs_event_t& event);

  // The reply of the slot may come here from now on, however its call goes; and until it has come.
  void expect(std::uint32_t slot) { set_expected(expected_.load(std::memory_order_relaxed) | bit(slot)); }
  void forget(std::uint32_t slot) { set_expected(expected_.load(std::memory_order_relaxed) & ~bit(slot)); }
  // A call of a slot. False: errno, and the window is of no use any more.
  bool send(std::uint32_t slot, const std::byte* message, std::size_t bytes);
  // Looks for replies, about so long. True: there is one. Thread: one, whoever else sends.
  [[nodiscard]] bool look(unsigned rounds) const;
  // The next reply that is there, valid until the next call. Empty: there is none.
  std::span<const std::byte> receive();
  // Whoever looked is about to sleep: the server is to ring from now on. False: there is a reply.
  bool begin_sleep();
  void end_sleep();

 private:
  ClientWindow(int socket, exs_qhandle_t queue, std::uint32_t slots)
      : socket_(socket), queue_(queue), slots_(slots) {}
  bool offer(std::uint64_t token);
  static std::uint64_t bit(std::uint32_t slot) { return std::uint64_t{1} << slot; }
  void set_expected(std::uint64_t slots) { expected_.store(slots, std::memory_order_relaxed); }
  [[nodiscard]] bool has_reply(std::uint32_t slot) const { return places_.reply_flag(slot) != taken_[slot]; }

  const int socket_;
  const exs_qhandle_t queue_;
  const std::uint32_t slots_;
  std::byte* memory_ = nullptr;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  WindowPlaces places_;
  std::atomic<std::uint64_t> expected_{0};        // slots whose reply is to come
  std::array<std::uint32_t, kSlotsMax> taken_{};  // of each slot, the last reply's flag
  alignas(kLineBytes) std::array<std::byte, kInlineBytes> reply_;
};

}  // namespace exs::rpc
