// A client's connection in the server: it is greeted, then serves one request at a time. Thread: that of its worker, unless stated
// otherwise.
//
// Design notes
//  1. A procedure runs without the lock, on arguments that stay in the receive buffer. A reply takes the lock. The worker needs no lock
//     while no request is kept, because then no other thread knows the binding: enter() takes it only if one is.
//  2. A kept request has its slot until it is answered. The client cannot use that slot before, so it cannot flood the server.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/annotations.h"
#include "base/clock.h"
#include "base/drive_lock.h"
#include "base/status.h"
#include "exs/rpc.h"
#include "rpc/channel/message_link.h"
#include "rpc/fast/arena.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "rpc/fast/slot_memory.h"
#include "rpc/fast/transitions.h"
#include "rpc/fast/window.h"
#include "rpc/fast/window_tokens.h"

namespace exs::rpc {

class Binding;
class ServerWindow;

struct RpcRequest {
  Binding* binding = nullptr;
  std::shared_ptr<Binding> owned_binding;  // set in a kept request
  const exs_rpc_procedure_t* procedure = nullptr;
  void* user = nullptr;
  RequestArena* arena = nullptr;  // NULL in a kept request
  std::uint64_t arrived_ns = 0;
  std::uint64_t end_ns = kNeverNs;
  std::uint32_t sequence = 0;
  std::int32_t status = 0;  // what the procedure returned
  bool is_timed = false;
  bool is_kept = false;  // the kept copy sends the reply
  std::atomic<bool> is_cancelled{false};
};

}  // namespace exs::rpc

struct exs_rpc_request : exs::rpc::RpcRequest {};

namespace exs::rpc {

// An interface, its functions, and their argument `user`.
struct ServedInterface {
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
  [[nodiscard]] virtual bool adopt_window(int socket, std::shared_ptr<Binding> client) = 0;

 protected:
  ~WindowHost() = default;
};

// The parts of the server that a binding uses.
struct ServerParts {
  const std::vector<ServedInterface>& services;
  const ServerSettings& settings;
  WindowTokens& tokens;
  WindowHost& host;
};

// Memory of a worker, which its bindings share in turn.
struct WorkerMemory {
  alignas(kLineBytes) std::array<std::byte, kInlineBytes> call{};  // a call from a window
  RequestArena arena;
  MessageBuffer message;
  std::uint64_t arrived_ns = 0;  // when the current events arrived
  bool is_fresh = false;         // that is just now
};

// The greeting, as the server sees it.
enum class GreetingState : std::uint8_t {
  kHello,    // the client's first message is to come
  kTable,    // it was welcome, and its table is to come
  kRefused,  // it reads the reason and closes
  kReady,    // it may call
};
inline constexpr TransitionTable<GreetingState, 4> kGreetingStates{{{
    {GreetingState::kTable, GreetingState::kRefused},  // after kHello
    {GreetingState::kReady},                           // after kTable
    {},                                                // after kRefused
    {},                                                // after kReady
}}};

class Binding : public std::enable_shared_from_this<Binding> {
 public:
  Binding(int socket, exs_qhandle_t queue, exs_ahandle_t handle, const ServerParts& server,
          std::uint64_t now_ns);

  // Here and below, after an error the connection has ended: destroy the binding. A server that is full refuses the client.
  Status start(bool is_full);
  Status take_event(const exs_event_t& event, WorkerMemory& memory);
  [[nodiscard]] bool is_late(std::uint64_t now_ns) const { return !is_greeted() && now_ns > greeted_by_ns_; }
  [[nodiscard]] bool is_greeted() const { return greeting_ == GreetingState::kReady; }
  // Replies to its kept requests fail from now on.
  void end() EXS_EXCLUDES(mutex_);
  // Serves a call from the client's window.
  Status take_call(std::span<const std::byte> message, WorkerMemory& memory);
  // Sends short replies by the window from now on. Returns false if the binding has a window, or has ended.
  [[nodiscard]] bool attach_window(ServerWindow& window) EXS_EXCLUDES(mutex_);
  void detach_window(const ServerWindow& window) EXS_EXCLUDES(mutex_);

  // --- requests; thread: any ---
  // ECONNRESET: the client is gone. Other errors are those of the result, which the client gets, too.
  Status reply(RpcRequest& request, int status, const void* result, MessageBuffer& buffer)
      EXS_EXCLUDES(mutex_);
  // Throws std::bad_alloc. Thread: the worker's, in the procedure.
  exs_rpc_request* keep(RpcRequest& request) EXS_EXCLUDES(mutex_);
  // forget() precedes the reply to a kept request; release_kept() follows it.
  void forget(const exs_rpc_request* kept) EXS_EXCLUDES(mutex_);
  void release_kept();
  Status get_peer(sockaddr* address, socklen_t* length) EXS_EXCLUDES(mutex_);

 private:
  // The value behind a reply's header.
  struct ReplyValue {
    ReplyStatus status;
    const exs_rpc_type_t* type;  // NULL: no value
    const void* value;
  };
  class BindingTurn;

  // The worker's turn with what the mutex guards.
  void enter() EXS_ACQUIRE(mutex_);
  void leave() EXS_RELEASE(mutex_);
  Status take_message(WorkerMemory& memory) EXS_REQUIRES(mutex_);
  Status take_hello() EXS_REQUIRES(mutex_);
  ServerWelcome welcome_for(const ProgramHello& hello);
  Status take_table(WorkerMemory& memory) EXS_REQUIRES(mutex_);
  Status hand_over_window(const WindowHello& hello) EXS_REQUIRES(mutex_);
  Status answer_window_wish(WorkerMemory& memory) EXS_REQUIRES(mutex_);
  Status take_request(std::span<const std::byte> message, WorkerMemory& memory) EXS_REQUIRES(mutex_);
  Status take_cancel(const CallHeader& header) EXS_REQUIRES(mutex_);
  Status serve(const CallHeader& header, std::span<const std::byte> body, WorkerMemory& memory)
      EXS_REQUIRES(mutex_);
  ReplyValue run(exs_rpc_request& request, std::uint16_t place, std::span<const std::byte> body,
                 WorkerMemory& memory);
  static ReplyValue failure_of(const RpcRequest& request);
  Status send_reply(const RpcRequest& request, const ReplyValue& reply, MessageBuffer& buffer)
      EXS_REQUIRES(mutex_);
  [[nodiscard]] bool use_slot(std::uint32_t sequence) EXS_REQUIRES(mutex_);
  void free_slot(std::uint32_t slot) EXS_REQUIRES(mutex_);

  const ServerParts server_;
  const std::uint64_t greeted_by_ns_;
  // The worker's own.
  const ServedInterface* service_ = nullptr;
  TableMatch match_;
  GreetingState greeting_ = GreetingState::kHello;
  bool is_full_ = false;
  bool has_mutex_ = false;  // since enter()

  std::atomic<std::uint32_t> others_{0};  // requests that other threads may hold
  Mutex mutex_;
  bool has_ended_ EXS_GUARDED_BY(mutex_) = false;
  MessageLink link_ EXS_GUARDED_BY(mutex_);
  SlotMemory memory_ EXS_GUARDED_BY(mutex_);
  std::uint64_t busy_slots_ EXS_GUARDED_BY(mutex_) = 0;
  std::vector<exs_rpc_request*> kept_ EXS_GUARDED_BY(mutex_);
  std::uint64_t token_ EXS_GUARDED_BY(mutex_) = 0;  // of its window
  ServerWindow* window_ EXS_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace exs::rpc
