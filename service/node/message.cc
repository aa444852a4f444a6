// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/message.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"

namespace exs::svc {
namespace {

struct Block : exs_svc_message_t {
  std::shared_ptr<Share> share;
  std::shared_ptr<Windows> windows;
  std::optional<CallName> call;
};

}  // namespace

exs_svc_message_t* make_message(MessageParts parts) {
  const std::span<const Bytes> items = std::span(parts.items->item).first(parts.items->count);
  std::size_t bytes = 0;
  for (const Bytes item : items) bytes += item.size();
  const std::size_t head_bytes = sizeof(Block) + (items.size() + parts.longs.size()) * sizeof(exs_svc_item_t);
  void* const memory = std::malloc(head_bytes + bytes);
  if (memory == nullptr) return nullptr;
  Block* const block = std::construct_at(static_cast<Block*>(memory));
  auto* const list = reinterpret_cast<exs_svc_item_t*>(block + 1);
  auto* to = static_cast<std::uint8_t*>(memory) + head_bytes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    new (list + i) exs_svc_item_t{to, items[i].size()};
    if (!items[i].empty()) std::memcpy(to, items[i].data(), items[i].size());
    to += items[i].size();
  }
  std::copy(parts.longs.begin(), parts.longs.end(), list + items.size());
  std::copy(parts.from.begin(), parts.from.end(), block->from.bytes);
  block->items_count = static_cast<std::uint32_t>(items.size());
  block->longs_count = static_cast<std::uint32_t>(parts.longs.size());
  block->items = list;
  block->longs = list + items.size();
  block->limit_ns = parts.limit_ns;
  block->windows = std::move(parts.windows);
  block->share = std::move(parts.share);
  block->call = parts.call;
  if (block->share != nullptr) {
    block->share->messages.fetch_add(1, std::memory_order_relaxed);
    block->share->mailbox->count.fetch_add(1, std::memory_order_relaxed);
  }
  return block;
}

void free_message(exs_svc_message_t* message) noexcept {
  auto* const block = static_cast<Block*>(message);
  if (block->share != nullptr) {
    const std::uint32_t of_share = block->share->messages.fetch_sub(1, std::memory_order_relaxed);
    const std::uint32_t of_mailbox = block->share->mailbox->count.fetch_sub(1);
    EXS_CHECK(of_share > 0 && of_mailbox > 0);
  }
  block->~Block();
  std::free(block);
}

void discard(const exs_svc_event_t& event) noexcept {
  if (event.message != nullptr) free_message(const_cast<exs_svc_message_t*>(event.message));
}

const std::optional<CallName>& call_of(const exs_svc_message_t* message) noexcept {
  return static_cast<const Block*>(message)->call;
}

std::shared_ptr<Mailbox> mailbox_of(const exs_svc_message_t* message) noexcept {
  const std::shared_ptr<Share>& share = static_cast<const Block*>(message)->share;
  return share == nullptr ? nullptr : share->mailbox;
}

const std::shared_ptr<Windows>& windows_of(const exs_svc_message_t* message) noexcept {
  return static_cast<const Block*>(message)->windows;
}

}  // namespace exs::svc
