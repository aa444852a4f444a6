// The ports of a shard: one for each provider that plays a role, and one for the readiness of plain sockets.
// A silent port is polled less often than a busy one, and all are armed before a thread sleeps on them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "event/engine/readiness.h"
#include "src/provider/provider_set.h"

namespace exs {

inline constexpr std::size_t kPortsMax = kRoles.size() + 1;

// The ports whose descriptors were readable when a sleep ended, by slot. All: the sleep ended for another
// reason.
using ReadyPorts = std::bitset<kPortsMax>;

inline ReadyPorts all_ports() {
  return ReadyPorts().set();
}

// The descriptors that a thread asleep on the ports watches: those of the ports, and last its own.
class WatchedPorts {
 public:
  // Adds the descriptor of the next port, or at last the thread's own.
  void add(int descriptor) { watched_[count_++] = {descriptor, POLLIN, 0}; }
  [[nodiscard]] std::span<pollfd> descriptors() { return {watched_.data(), count_}; }
  // The next two are valid after the sleep.
  [[nodiscard]] ReadyPorts ready() const {
    ReadyPorts ready;
    for (std::size_t i = 0; i + 1 < count_; ++i) ready[i] = watched_[i].revents != 0;
    return ready;
  }
  [[nodiscard]] bool own_is_ready() const { return watched_[count_ - 1].revents != 0; }

 private:
  std::array<pollfd, kPortsMax + 1> watched_;
  std::size_t count_ = 0;
};

// Thread: shard, unless a method says otherwise.
class PortSet {
 public:
  // Call it before the other methods.
  Status open(ProviderSet& providers, Company& company);

  // The port of the provider that plays the role. Null: none does, or its port could not be opened
  // (why_missing()).
  [[nodiscard]] Port* player(Role role) const { return players_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] const Reason& why_missing(Role role) const {
    return missing_[static_cast<std::size_t>(role)];
  }
  // Null: not opened yet.
  [[nodiscard]] Readiness* readiness() const { return readiness_; }
  Result<Readiness*> open_readiness();
  void bind_engine_thread();

  // Polls every port. Of a port that is neither `ready` nor due only memory is polled.
  void poll_all(std::uint64_t now_ns, const ReadyPorts& ready);
  // Polls memory, and the `ready` ports. `now_ns` may be slightly old. False: something needs poll_all().
  [[nodiscard]] bool poll_memory(std::uint64_t now_ns, const ReadyPorts& ready);
  // How often has_news() may be called in a row. 0: it may not.
  [[nodiscard]] unsigned looks_in_a_row() const { return looks_in_a_row_; }
  // Of the port that was the last to show something: it has more.
  [[nodiscard]] bool has_news() { return shown_->port->has_news(); }
  // Takes in what that port has, until it is enough. True: there are completions to take. The next poll counts the arrivals.
  [[nodiscard]] bool take_news(const bool& enough) {
    const bool is_all = shown_->port->take_news(enough);
    return !is_all || shown_->port->has_completions();
  }
  void flush();
  // Flushes posts, and passes every available completion to `take`. False: there was none.
  template <typename Take>
  bool take_completions(Take&& take) {
    bool some = false;
    for (PortSlot& slot : slots_) {
      const std::size_t count = slot.port->flush_and_poll(completions_);
      for (std::size_t i = 0; i < count; ++i) take(completions_[i]);
      some = some || count > 0;
    }
    return some;
  }
  [[nodiscard]] std::uint64_t next_deadline_ns() const;
  [[nodiscard]] WatchedPorts watched() const;

  // Makes peers ring the doorbell from now on. False: there is work already.
  [[nodiscard]] bool arm();
  void disarm();
  [[nodiscard]] bool is_armed() const { return armed_; }

  // Thread: any. A count that grows whenever something has arrived from the network.
  [[nodiscard]] std::uint64_t arrivals() const { return arrivals_.load(std::memory_order_relaxed); }

 private:
  // A port, and when something last arrived there: a silent port is polled less often while another is busy.
  struct PortSlot {
    std::unique_ptr<Port> port;
    std::uint64_t arrivals = 0;
    std::uint64_t polled_ns = 0;
    std::uint64_t busy_ns = 0;
  };
  Status open_player(ProviderSet& providers, Company& company, Role role);
  void note_arrivals(PortSlot& slot, std::uint64_t now_ns);
  [[nodiscard]] static bool is_due(const PortSlot& slot, std::uint64_t now_ns, std::uint64_t last_busy_ns);

  std::vector<PortSlot> slots_;
  std::array<Port*, kRoles.size()> players_{};  // constant after open(), as are the reasons
  std::array<Reason, kRoles.size()> missing_;
  Readiness* readiness_ = nullptr;
  std::array<Completion, 64>
      completions_;              // a member, because initializing it on every call takes measurable time
  PortSlot* shown_ = nullptr;    // the last to show something
  unsigned looks_in_a_row_ = 0;  // at that
  bool armed_ = false;
  std::uint64_t busy_ns_ = 0;               // when something last arrived at any port
  std::atomic<std::uint64_t> arrivals_{0};  // a hint, written by the shard and read by waiting threads
};

}  // namespace exs
