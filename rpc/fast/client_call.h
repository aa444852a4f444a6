// A call of a client, from its stub to its outcome, and the states between them. Thread: that which holds the client's mutex.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "exs/rpc.h"
#include "rpc/channel/message_buffer.h"
#include "rpc/fast/transitions.h"

namespace exs::rpc {

class Client;

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

enum class CallState : std::uint8_t {
  kFree,        // in the list of free calls
  kNew,         // not sent and not queued
  kQueued,      // its message waits for a slot
  kQueuedOver,  // the same, but it was given up
  kInSlot,      // its message is sent, or about to be; the reply is pending
  kInSlotOver,  // the same, but it was given up
  kEnded,       // it has its outcome, and no slot
};
inline constexpr TransitionTable<CallState, 7> kCallStates{{{
    {CallState::kNew},                                                // after kFree
    {CallState::kQueued, CallState::kInSlot, CallState::kEnded},      // after kNew
    {CallState::kQueuedOver, CallState::kInSlot, CallState::kEnded},  // after kQueued
    {CallState::kEnded},                                              // after kQueuedOver
    {CallState::kInSlotOver, CallState::kEnded},                      // after kInSlot
    {CallState::kEnded},                                              // after kInSlotOver
    {CallState::kFree},                                               // after kEnded
}}};

// How a call has ended, and whether the server executed it: EXS_RPC_EXECUTED, ...
struct CallOutcome {
  Status status;
  int executed;
};

struct ClientCall {
  [[nodiscard]] bool has_ended() const {
    return state == CallState::kEnded || state == CallState::kInSlotOver || state == CallState::kQueuedOver;
  }
  [[nodiscard]] bool is_in_slot() const {
    return state == CallState::kInSlot || state == CallState::kInSlotOver;
  }
  [[nodiscard]] bool is_queued() const {
    return state == CallState::kQueued || state == CallState::kQueuedOver;
  }
  void move_to(CallState wanted) { kCallStates.move_state(state, wanted); }

  Client* client = nullptr;
  const exs_rpc_procedure_t* procedure = nullptr;
  exs_rpc_context_t* context = nullptr;
  void* result = nullptr;        // where the result goes on arrival; NULL: it is kept for end()
  std::uint32_t slot = kNoSlot;  // while it is in a slot
  std::uint32_t sequence = 0;    // the slot, and above it the count of its uses
  std::uint16_t place = 0;       // of the procedure in the client's table
  CallState state = CallState::kFree;
  bool has_owner = false;  // the program will ask for the outcome
  bool is_in_place = false;
  bool is_timed = false;
  std::uint64_t end_ns = 0;
  std::uint64_t limit_ns = 0;  // the limit in the call's header
  Status outcome;              // of a call that has ended
  ClientCall* next = nullptr;  // in the list of queued or free calls
  // Called once, after the end.
  void (*on_end)(void* user) = nullptr;
  void* user = nullptr;
  ClientCall* next_ended = nullptr;
  std::vector<std::byte> short_message;  // of a queued call: header and arguments
  MessageBuffer long_message;
  std::size_t message_bytes = 0;
  MessageBuffer reply;
  std::size_t reply_bytes = 0;
};

}  // namespace exs::rpc

struct exs_rpc_call : exs::rpc::ClientCall {};
