// A client's connection in the server: it is greeted, then serves one request at a time. Thread: that of its worker, unless stated
// otherwise.
//
// Design notes
//  1. A procedure runs without the lock, on arguments that stay in the receive buffer. A reply takes the lock. The worker needs no lock
//     while no request is kept, because then no other thread knows the binding.
//  2. A kept request has its slot until it is answered. The client cannot use that slot before, so it cannot flood the server.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "exs/rpc.h"
#include "rpc/channel/link.h"
#include "rpc/fast/arena.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "rpc/fast/slot_memory.h"
#include "rpc/fast/window.h"
#include "rpc/fast/window_tokens.h"

namespace exs::rpc {

class Binding;
class ServerWindow;

struct Request {
  Binding* binding = nullptr;
  std::shared_ptr<Binding> owned_binding;  // set in a kept request
  const exs_rpc_procedure_t* procedure = nullptr;
  void* user = nullptr;
  Arena* arena = nullptr;  // NULL in a kept request
  std::uint32_t sequence = 0;
  std::int64_t arrived_ns = 0;
  std::int64_t end_ns = 0;
  bool is_timed = false;
  std::int32_t told = 0;  // the procedure's return value
  bool is_kept = false;   // the kept copy sends the reply
  std::atomic<bool> is_cancelled{false};
};

}  // namespace exs::rpc

struct exs_rpc_request : exs::rpc::Request {};

namespace exs::rpc {

// An interface, its functions, and their argument `user`.
struct Service {
  const exs_rpc_service_t* service;
  void* user;
};

// The options of a server.
struct ServerSettings {
  std::uint32_t slots;
  std::uint32_t longest;
  std::uint32_t clients;
};

// Takes over the windows of clients.
class WindowHost {
 public:
  // Returns false if memory ran out; the socket still belongs to the caller.
  virtual bool adopt_window(int socket, std::shared_ptr<Binding> client) = 0;

 protected:
  ~WindowHost() = default;
};

// The parts of the server that a binding uses.
struct Site {
  const std::vector<Service>& services;
  const ServerSettings& settings;
  WindowTokens& tokens;
  WindowHost& host;
};

// Memory of a worker, which its bindings share in turn.
struct Workshop {
  Arena arena;
  MessageBuffer message;
  alignas(kLineBytes) std::array<std::byte, kInlineBytes> call{};  // a call from a window
  std::int64_t arrived_ns = 0;                                     // when the current events arrived
  bool is_fresh = false;                                           // that is just now
};

class Binding : public std::enable_shared_from_this<Binding> {
 public:
  Binding(int socket, exs_qhandle_t queue, exs_ahandle_t handle, const Site& site, std::int64_t now_ns);

  // Here and below false means: the connection has ended; destroy the binding.
  bool begin(bool is_full);
  bool take(const exs_event_t& event, Workshop& workshop);
  [[nodiscard]] bool is_late(std::int64_t now_ns) const {
    return state_ != State::kReady && now_ns > greeted_by_ns_;
  }
  [[nodiscard]] bool is_greeted() const { return state_ == State::kReady; }
  // Replies to its kept requests fail from now on.
  void end();
  // Serves a call from the client's window.
  bool take_call(std::span<const std::byte> message, Workshop& workshop);
  // Sends short replies by the window from now on. Returns false if the binding has a window, or has ended.
  bool attach(ServerWindow& window);
  void detach(const ServerWindow& window);

  // --- requests; thread: any ---
  // Returns 0 or an error of the result, which the client gets too. ECONNRESET: the client is gone.
  int reply(Request& request, int status, const void* result, MessageBuffer& buffer);
  // Throws std::bad_alloc. Thread: the worker's, in the procedure.
  exs_rpc_request* keep(Request& request);
  // forget() precedes the reply to a kept request; release() follows it.
  void forget(const exs_rpc_request* kept);
  void release() { others_.fetch_sub(1, std::memory_order_release); }
  int peer(sockaddr* address, socklen_t* length);

 private:
  enum class State { kHello, kTable, kReady };

  using Lock = std::unique_lock<std::mutex>;
  // The value behind a reply's header.
  struct Result {
    Status status;
    const exs_rpc_type_t* type;  // NULL: no value
    const void* value;
  };

  Lock hold();
  bool take_message(Workshop& workshop, Lock& lock);
  bool take_hello();
  bool take_table(Workshop& workshop);
  bool hand_over_window(const WindowHello& hello);
  bool take_window_wish(Workshop& workshop);
  bool take_request(std::span<const std::byte> message, Workshop& workshop, Lock& lock);
  bool take_cancel(const Header& header);
  bool serve(const Header& header, std::span<const std::byte> body, Workshop& workshop, Lock& lock);
  Result run(exs_rpc_request& request, std::uint16_t place, std::span<const std::byte> body,
             Workshop& workshop);
  static Result failure_of(const Request& request);
  int send_reply(const Request& request, const Result& result, MessageBuffer& buffer);
  bool use_slot(std::uint32_t sequence);

  std::mutex mutex_;
  Link link_;
  SlotMemory memory_;
  const Site site_;
  const std::int64_t greeted_by_ns_;
  State state_ = State::kHello;
  bool is_full_ = false;
  bool has_ended_ = false;
  const Service* service_ = nullptr;
  Match match_;
  std::uint64_t busy_slots_ = 0;
  std::vector<exs_rpc_request*> kept_;
  std::atomic<std::uint32_t> others_{0};  // requests that other threads may hold
  std::uint64_t token_ = 0;               // of its window
  ServerWindow* window_ = nullptr;
};

}  // namespace exs::rpc
