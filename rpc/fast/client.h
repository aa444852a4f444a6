// A client: its calls, and the one connection that carries them. A broken connection is made anew. Thread: any.
//
// Design notes
//  1. One of the waiting threads watches the connection, and processes events for all.
//  2. A call that is given up keeps its slot until its reply has arrived, so no late reply meets another call. An answered call has its
//     result and no slot.
//  3. The next receive is posted when a thread looks for events, which is after the next call has left.
//  4. A one-way call is answered, too, though nobody waits. So its slot is known to be free, and a server is never flooded.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/annotations.h"
#include "base/condition.h"
#include "base/drive_lock.h"
#include "base/status.h"
#include "rpc/fast/client_binding.h"
#include "rpc/fast/client_call.h"
#include "rpc/fast/outgoing.h"

namespace exs::rpc {

struct ClientSettings {
  std::int64_t connect_ns;
  std::int64_t call_ns;
  std::uint32_t longest;
  std::uint32_t slots;
  std::uint32_t waiting;  // calls that may be queued for a slot
  exs_qhandle_t queue;    // the program's; EXS_QHANDLE_INVALID: the client has its own
  bool window;            // use a window if possible
};

class Client {
 public:
  Client(const ServerAddress& server, const exs_rpc_interface_t& interface, const ClientSettings& settings);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Status connect();
  Status call(std::uint32_t procedure, const void* argument, void* result, exs_rpc_context_t* context);
  Result<exs_rpc_call*> begin_call(std::uint32_t procedure, const void* argument, exs_rpc_context_t* context);
  Status end_call(ClientCall& call, void* result);
  bool has_ended(ClientCall& call);
  void cancel(ClientCall& call);
  void on_end(ClientCall& call, void (*ended)(void* user), void* user);
  // Handles an event of the program's queue. Returns false if it belongs to another object.
  bool take_event(const exs_event_t& event);
  exs_rpc_client_info_t info();

 private:
  // Holds the mutex. Its end releases the mutex, and calls `on_end` of each call that has ended. Such a function may end other calls,
  // which are not reported any more then, or delete the client.
  class EXS_SCOPED_CAPABILITY Section {
   public:
    explicit Section(Client& client) EXS_ACQUIRE(client.mutex_) : client_(client) { client_.mutex_.lock(); }
    ~Section() EXS_RELEASE();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    friend Client;
    Client& client_;
    Section* next_ = nullptr;  // in the list of sections that report ends
    bool has_client_ = true;
  };

  // The parameters of a call, on the way from its stub to a slot.
  struct CallParameters {
    std::uint32_t procedure;
    bool may_wait;
    const void* argument;
    void* result;
    exs_rpc_context_t* context;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
  };
  struct CallSlot {
    ClientCall* call = nullptr;
    std::uint32_t sequence = 0;  // of its last call
  };

  [[nodiscard]] CallParameters parameters_of(std::uint32_t procedure, const void* argument, void* result,
                                             exs_rpc_context_t* context, bool may_wait) const;
  Status check_parameters(const CallParameters& parameters) const;
  Status check_procedure(const CallParameters& parameters) const;

  Status connect_for(std::int64_t limit_ns) EXS_REQUIRES(mutex_);
  Status ensure_binding(const CallParameters& parameters) EXS_REQUIRES(mutex_);
  [[nodiscard]] Status check_verdict(const CallParameters& parameters) const EXS_REQUIRES(mutex_);
  Result<exs_rpc_call*> start_call(const CallParameters& parameters) EXS_REQUIRES(mutex_);
  Result<exs_rpc_call*> start_now(const CallParameters& parameters) EXS_REQUIRES(mutex_);
  Result<exs_rpc_call*> queue_call(const CallParameters& parameters) EXS_REQUIRES(mutex_);
  Status refuse_start(const CallParameters& parameters, int error) const EXS_REQUIRES(mutex_);
  Status wait_for_room(const CallParameters& parameters) EXS_REQUIRES(mutex_);
  Status write_argument(const CallParameters& parameters, OutgoingMessage& message, std::size_t& bytes) const
      EXS_REQUIRES(mutex_);
  static CallHeader header_of(const ClientCall& call, std::size_t bytes);

  exs_rpc_call* take_call(const CallParameters& parameters) EXS_REQUIRES(mutex_);
  void recycle(ClientCall& call) EXS_REQUIRES(mutex_);
  void forsake(ClientCall& call) EXS_REQUIRES(mutex_);
  [[nodiscard]] bool has_free_slot() const EXS_REQUIRES(mutex_);
  void take_slot(ClientCall& call) EXS_REQUIRES(mutex_);
  void leave_slot(ClientCall& call) EXS_REQUIRES(mutex_);
  Status keep_message(ClientCall& call) EXS_REQUIRES(mutex_);
  Status send_kept_message(ClientCall& call) EXS_REQUIRES(mutex_);
  ClientCall& pop_queued() EXS_REQUIRES(mutex_);
  void send_queued() EXS_REQUIRES(mutex_);

  // `time_ns` is about now.
  void await_end(ClientCall& call, std::uint64_t time_ns) EXS_REQUIRES(mutex_);
  // Waits for an event. Returns false when the time is over.
  bool look_until(std::uint64_t end_ns, std::uint64_t time_ns) EXS_REQUIRES(mutex_);
  bool watch_connection(std::int64_t limit_ns) EXS_REQUIRES(mutex_);
  void post_owed_receive() EXS_REQUIRES(mutex_);
  void wake_waiting() EXS_REQUIRES(mutex_);
  void take_event_of_binding(const exs_event_t& event) EXS_REQUIRES(mutex_);
  bool take_replies() EXS_REQUIRES(mutex_);
  [[nodiscard]] bool take_reply(std::span<const std::byte> message) EXS_REQUIRES(mutex_);
  void finish_call(ClientCall& call, const CallHeader& header, std::span<const std::byte> body)
      EXS_REQUIRES(mutex_);
  Status place_result(ClientCall& call, std::span<const std::byte> body, void* result) EXS_REQUIRES(mutex_);
  void give_up(ClientCall& call, int error) EXS_REQUIRES(mutex_);
  void note_end(ClientCall& call) EXS_REQUIRES(mutex_);
  void forget_end(ClientCall& call) EXS_REQUIRES(mutex_);
  void conclude(ClientCall& call, CallState state, const CallOutcome& outcome) EXS_REQUIRES(mutex_);
  CallOutcome read_outcome(ClientCall& call, const CallHeader& header, std::span<const std::byte> body)
      EXS_REQUIRES(mutex_);
  Status report_outcome(ClientCall& call, void* result) EXS_REQUIRES(mutex_);
  void lose_binding(int error) EXS_REQUIRES(mutex_);

  [[nodiscard]] bool has_own_queue() const { return settings_.queue == EXS_QHANDLE_INVALID; }
  [[nodiscard]] bool is_usable() const EXS_REQUIRES(mutex_) {
    return connection_ == ConnectionState::kUsable;
  }

  // The thread that watches the connection, if any.
  enum class WatchState : std::uint8_t {
    kNobody,
    kOne,
    kWoken,  // that thread is about to return
  };
  enum class ConnectionState : std::uint8_t {
    kNone,    // there is no binding
    kUsable,  // of the binding
    kBroken,
  };

  const ServerAddress server_;
  const exs_rpc_interface_t& interface_;
  const ClientSettings settings_;
  Mutex mutex_;
  Condition progress_;
  WatchState watch_ EXS_GUARDED_BY(mutex_) = WatchState::kNobody;
  ConnectionState connection_ EXS_GUARDED_BY(mutex_) = ConnectionState::kNone;
  bool owes_receive_ EXS_GUARDED_BY(mutex_) = false;
  int waiting_ EXS_GUARDED_BY(mutex_) = 0;  // threads that wait for the one that watches
  std::unique_ptr<ClientBinding> binding_ EXS_GUARDED_BY(mutex_);
  std::uint64_t active_ns_ EXS_GUARDED_BY(mutex_) = 0;
  std::deque<exs_rpc_call> calls_ EXS_GUARDED_BY(mutex_);  // grows to the most that were needed at a time
  ClientCall* free_calls_ EXS_GUARDED_BY(mutex_) = nullptr;
  std::array<CallSlot, kSlotsMax> slots_ EXS_GUARDED_BY(mutex_);
  ClientCall* first_queued_ EXS_GUARDED_BY(mutex_) = nullptr;
  ClientCall* last_queued_ EXS_GUARDED_BY(mutex_) = nullptr;
  std::uint32_t queued_ EXS_GUARDED_BY(mutex_) = 0;
  ClientCall* ended_ EXS_GUARDED_BY(mutex_) = nullptr;   // list of ended calls to report
  Section* reporting_ EXS_GUARDED_BY(mutex_) = nullptr;  // list of sections that report ends
  MessageBuffer message_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs::rpc

struct exs_rpc_client : exs::rpc::Client {
  using Client::Client;
};
