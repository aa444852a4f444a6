// A message that a program has: one block of memory, with what its release gives back. Thread: any, but where a service is meant.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "exs/service.h"
#include "service/node/window_memory.h"
#include "service/wire/frames.h"

namespace exs::svc {

class Service;

// What the messages of a service have of it.
struct Mailbox {
  explicit Mailbox(std::shared_ptr<std::mutex> node_lock) : lock(std::move(node_lock)) {}
  std::atomic<std::uint32_t> count{0};     // messages that are not released
  std::atomic<bool> is_frozen{false};      // a move waits for them
  const std::shared_ptr<std::mutex> lock;  // the node's
  Service* service = nullptr;              // NULL: it is closed. Under the lock
};

// What a principal has of a service.
struct Share {
  explicit Share(std::shared_ptr<Mailbox> of) : mailbox(std::move(of)) {}
  const std::shared_ptr<Mailbox> mailbox;
  std::atomic<std::uint32_t> messages{0};  // that are not released
  std::atomic<std::size_t> bytes{0};       // allocated for their long items
  std::size_t flows_kept = 0;              // that are on no link. Under the node's lock
};

// A request that the program has, by the names of its flow and of itself.
struct CallName {
  std::pair<std::uint64_t, std::uint64_t> flow;
  std::uint64_t call = 0;
};

struct MessageParts {
  IdBytes from{};
  const Items* items = nullptr;
  std::span<const exs_svc_item_t> longs;
  std::shared_ptr<Windows> windows;  // where `longs` are ours
  std::shared_ptr<Share> share;      // of a service
  std::optional<CallName> call;      // of a request
  std::int64_t limit_ns = 0;
};

// NULL: there is no memory.
exs_svc_message_t* make_message(MessageParts parts);
void free_message(exs_svc_message_t* message) noexcept;
struct MessageFree {
  void operator()(exs_svc_message_t* message) const noexcept { free_message(message); }
};
using OwnedMessage = std::unique_ptr<exs_svc_message_t, MessageFree>;

// Of an event that nobody gets.
void discard(const exs_svc_event_t& event) noexcept;

// Nothing: it is no request.
const std::optional<CallName>& call_of(const exs_svc_message_t* message) noexcept;
// NULL: it is a reply.
std::shared_ptr<Mailbox> mailbox_of(const exs_svc_message_t* message) noexcept;
const std::shared_ptr<Windows>& windows_of(const exs_svc_message_t* message) noexcept;

}  // namespace exs::svc
