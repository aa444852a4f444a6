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

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "rpc/fast/client_binding.h"
#include "rpc/fast/outgoing.h"

namespace exs::rpc {

class Client;

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

struct Call {
  Client* client = nullptr;
  std::uint32_t slot = kNoSlot;  // while its reply is pending
  std::uint32_t sequence = 0;    // the slot, and above it the count of its uses
  bool has_owner = false;        // the program will ask for the outcome
  bool has_ended = false;        // the outcome is known
  bool is_queued = false;        // its message waits for a slot
  Call* next = nullptr;          // in the list of queued or free calls
  const exs_rpc_procedure_t* procedure = nullptr;
  exs_rpc_context_t* context = nullptr;
  void* result = nullptr;  // where the result goes on arrival; NULL: it is kept for end()
  bool is_in_place = false;
  std::uint16_t place = 0;  // of the procedure in the client's table
  bool is_timed = false;
  std::vector<std::byte> short_message;  // of a queued call: header and arguments
  MessageBuffer long_message;
  std::size_t message_bytes = 0;
  std::int64_t limit_ns = 0;  // the limit in the call's header
  std::int64_t end_ns = 0;
  int error = 0;
  void (*ended)(void* user) = nullptr;  // called once, after the end
  void* user = nullptr;
  Call* next_ended = nullptr;
  MessageBuffer reply;
  std::size_t reply_bytes = 0;
};

}  // namespace exs::rpc

struct exs_rpc_call : exs::rpc::Call {};

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

  // Here and below: returns 0, or -1 with errno and error_text().
  int connect(std::int64_t limit_ns = INT64_MAX);
  int call(std::uint32_t procedure, const void* argument, void* result, exs_rpc_context_t* context);
  exs_rpc_call* begin(std::uint32_t procedure, const void* argument, exs_rpc_context_t* context);
  int end(Call& call, void* result);
  bool has_ended(Call& call);
  void cancel(Call& call);
  void on_end(Call& call, void (*ended)(void* user), void* user);
  // Handles an event of the program's queue. Returns false if it belongs to another object.
  bool take_event(const exs_event_t& event);
  exs_rpc_client_info_t info();

 private:
  using Lock = std::unique_lock<std::mutex>;
  // Holds the lock. Its end releases the lock, and calls `ended` of each call that has ended. Such a function may end other calls, which
  // are not reported any more then, or delete the client.
  class Section {
   public:
    explicit Section(Client& client) : lock(client.mutex_), client_(client) {}
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    Lock lock;

   private:
    friend Client;
    Client& client_;
    Section* next_ = nullptr;  // in the list of sections that report ends
    bool has_client_ = true;
  };

  // The parameters of a call, on the way from its stub to a slot.
  struct Wish {
    std::uint32_t procedure;
    const void* argument;
    void* result;
    exs_rpc_context_t* context;
    std::int64_t start_ns;
    std::int64_t end_ns;
    bool may_wait;
  };

  int check(const Wish& wish) const;
  exs_rpc_call* start(const Wish& wish, Lock& lock);
  int ensure_binding(Lock& lock, const Wish& wish);
  exs_rpc_call* take_call(const Wish& wish);
  void recycle(Call& call);
  void forsake(Call& call);
  [[nodiscard]] bool has_free_slot() const;
  void take_slot(Call& call);
  void leave_slot(Call& call);
  exs_rpc_call* start_now(const Wish& wish, int& error);
  exs_rpc_call* queue(const Wish& wish, int& error);
  void keep_message(Call& call);
  bool send_kept_message(Call& call);
  Call& take_queued();
  void send_queued();
  bool wait_for_room(const Wish& wish, Lock& lock);
  int write(const Wish& wish, Outgoing& message, std::size_t& bytes);
  static Header header_of(const Call& call, std::size_t bytes);
  // `time_ns` is about now.
  void wait(Call& call, Lock& lock, std::int64_t time_ns);
  // Waits for an event. Returns false when the time is over.
  bool look(Lock& lock, std::int64_t end_ns);
  bool look_for(Lock& lock, std::int64_t left_ns);
  void wake_waiting();
  void take(const exs_event_t& event);
  bool take_replies();
  bool take_reply(std::span<const std::byte> message);
  void finish(Call& call, const Header& header, std::span<const std::byte> body);
  int place_result(Call& call, std::span<const std::byte> body, void* result);
  [[nodiscard]] bool has_own_queue() const { return settings_.queue == EXS_QHANDLE_INVALID; }
  void give_up(Call& call, int error);
  void note_end(Call& call);
  void forget_end(Call& call);
  void conclude(Call& call, int error, int outcome);
  int tell(Call& call, void* result);
  void lose_binding(int error);

  const ServerAddress server_;
  const exs_rpc_interface_t& interface_;
  const ClientSettings settings_;
  std::mutex mutex_;
  std::condition_variable progress_;
  bool is_watched_ = false;  // a thread watches the connection
  bool is_woken_ = false;    // that thread is about to return
  int waiting_ = 0;          // threads that wait for the one that watches
  std::unique_ptr<ClientBinding> binding_;
  bool is_broken_ = false;  // the binding is broken
  bool owes_receive_ = false;
  std::int64_t active_ns_ = 0;
  std::deque<exs_rpc_call> calls_;  // grows to the most that were needed at a time
  Call* free_calls_ = nullptr;
  struct Slot {
    Call* call = nullptr;
    std::uint32_t sequence = 0;  // of its last call
  };
  std::array<Slot, kSlotsMax> slots_;
  Call* first_queued_ = nullptr;
  Call* last_queued_ = nullptr;
  std::uint32_t queued_ = 0;
  Call* ended_ = nullptr;       // list of ended calls to report
  Section* telling_ = nullptr;  // list
  MessageBuffer message_;
};

}  // namespace exs::rpc

struct exs_rpc_client : exs::rpc::Client {
  using Client::Client;
};
