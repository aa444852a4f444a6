#include "service/node/message.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace exs::svc {
namespace {

struct Block : exs_svc_message_t {
  std::shared_ptr<Mailbox> mailbox;
};

}  // namespace

exs_svc_message_t* make_message(const IdBytes& from, const Items& items, std::shared_ptr<Mailbox> mailbox) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < items.count; ++i) bytes += items.item[i].size();
  const std::size_t head_bytes = sizeof(Block) + items.count * sizeof(exs_svc_item_t);
  void* const memory = std::malloc(head_bytes + bytes);
  if (memory == nullptr) return nullptr;
  auto* const block = new (memory) Block{};
  auto* const list = reinterpret_cast<exs_svc_item_t*>(block + 1);
  auto* to = static_cast<std::uint8_t*>(memory) + head_bytes;
  for (std::size_t i = 0; i < items.count; ++i) {
    const Bytes item = items.item[i];
    new (list + i) exs_svc_item_t{to, item.size()};
    if (!item.empty()) std::memcpy(to, item.data(), item.size());
    to += item.size();
  }
  std::copy(from.begin(), from.end(), block->from.bytes);
  block->items_count = static_cast<std::uint32_t>(items.count);
  block->items = list;
  block->mailbox = std::move(mailbox);
  block->mailbox->fetch_add(1, std::memory_order_relaxed);
  return block;
}

void free_message(exs_svc_message_t* message) noexcept {
  auto* const block = static_cast<Block*>(message);
  block->mailbox->fetch_sub(1, std::memory_order_relaxed);
  block->~Block();
  std::free(block);
}

}  // namespace exs::svc
