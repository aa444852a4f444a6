// A message that a program holds: one block of memory, and references that its release drops. Thread: any, unless a comment names the
// service's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "base/drive_lock.h"
#include "exs/service.h"
#include "service/node/window_memory.h"
#include "service/wire/frames.h"

namespace exs::svc {

class Service;

// State that a service shares with its messages.
struct Mailbox {
  explicit Mailbox(std::shared_ptr<Mutex> node_lock) : lock(std::move(node_lock)) {}
  std::atomic<std::uint32_t> count{0};               // messages not released
  std::atomic<bool> is_frozen{false};                // a move waits for their release
  const std::shared_ptr<Mutex> lock;                 // the node's
  Service* service EXS_GUARDED_BY(*lock) = nullptr;  // NULL: closed
};

// The amount of a service that a principal uses.
struct Share {
  explicit Share(std::shared_ptr<Mailbox> of) : mailbox(std::move(of)) {}
  const std::shared_ptr<Mailbox> mailbox;
  std::atomic<std::uint32_t> messages{0};  // not released
  std::atomic<std::size_t> bytes{0};       // allocated for their long items
  std::size_t flows_kept = 0;              // on no link; guarded by the node's lock
};

// Identifies a request that the program holds: its flow and its number.
struct CallName {
  std::pair<std::uint64_t, std::uint64_t> flow;
  std::uint64_t call = 0;
};

struct MessageParts {
  IdBytes from{};
  const Items* items = nullptr;
  std::span<const exs_svc_item_t> longs;
  std::shared_ptr<Windows> windows;  // set if the library owns the memory of `longs`
  std::shared_ptr<Share> share;      // set for a service's message
  std::optional<CallName> call;      // set for a request
  std::int64_t limit_ns = 0;         // as the program sees it
};

// Returns NULL if memory ran out.
exs_svc_message_t* make_message(MessageParts parts);
void free_message(exs_svc_message_t* message) noexcept;
struct MessageFree {
  void operator()(exs_svc_message_t* message) const noexcept { free_message(message); }
};
using OwnedMessage = std::unique_ptr<exs_svc_message_t, MessageFree>;

// Releases the message of an event that nobody gets.
void discard(const exs_svc_event_t& event) noexcept;

// Returns nothing if the message is no request.
const std::optional<CallName>& call_of(const exs_svc_message_t* message) noexcept;
// Returns NULL if the message is a reply.
std::shared_ptr<Mailbox> mailbox_of(const exs_svc_message_t* message) noexcept;
const std::shared_ptr<Windows>& windows_of(const exs_svc_message_t* message) noexcept;

}  // namespace exs::svc
