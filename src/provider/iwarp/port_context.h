// The common state of one port's links and listeners, and the lists by which they request work of the port.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "src/provider/company.h"
#include "src/provider/completion_queue.h"
#include "src/provider/iwarp/chunk_pool.h"
#include "src/provider/iwarp/nudge.h"
#include "src/provider/iwarp/settings.h"
#include "src/provider/poller.h"

namespace exs::iwarp {

class IwarpLink;
class IwarpListener;

// Links that moved bytes lately: they are received from without asking epoll first, which saves one system call of two. Of more links than
// these, epoll knows at less cost which have bytes.
// Thread: shard.
class HotLinks {
 public:
  static constexpr std::size_t kMax = 2;

  void touch(IwarpLink* link) noexcept;
  void forget(const IwarpLink* link) noexcept;
  // One more look found nothing; links that stay silent for long leave the list.
  void cool(IwarpLink* link) noexcept;
  [[nodiscard]] bool has(const IwarpLink* link) const noexcept {
    return std::find(links_.begin(), links_.begin() + count_, link) != links_.begin() + count_;
  }
  [[nodiscard]] std::span<IwarpLink* const> links() const noexcept { return {links_.data(), count_}; }

 private:
  std::array<IwarpLink*, kMax> links_{};
  std::array<std::uint32_t, kMax> silence_{};
  std::size_t count_ = 0;
};

// Thread: shard.
struct PortContext {
  PortContext(Poller&& opened, const Settings& chosen) : settings(chosen), poller(std::move(opened)) {}

  const Settings settings;
  Poller poller;
  ChunkPool chunks;
  CompletionQueue completions;
  HotLinks hot;
  Nudges nudges;
  std::uint64_t now_ns = 0;         // as last passed to progress()
  std::uint64_t arrivals = 0;       // receives that brought bytes
  std::uint64_t look = 0;           // number of the progress()
  std::uint64_t fpdus_unasked = 0;  // from hot links, since epoll was asked about the others
  unsigned alone_in_a_row = 0;      // the last receives with bytes, of one FPDU each
  Company* company = nullptr;
  std::vector<IwarpLink*> to_flush;   // something was posted since the last flush()
  std::vector<IwarpLink*> held_back;  // something waits for company
  std::vector<IwarpLink*> to_send;    // something the link owes by itself: answers, handshakes, held-up sends
  std::vector<IwarpLink*> to_receive;  // epoll says that bytes are there, or a send has failed
  std::vector<IwarpLink*> working;     // what the port is at, and what of it needs another pass
  std::vector<IwarpLink*> again;

  std::vector<IwarpListener*> listeners;

  // In each of these lists for one more link, which need no memory to enter them then. They trade places.
  void make_room_for_link();
  void link_is_gone() noexcept { --links_; }
  void forget(const IwarpLink* link) noexcept;

 private:
  std::size_t links_ = 0;
};

}  // namespace exs::iwarp
