// A burst is what a thread posts between two polls of the network. A session may hold the bytes of small
// sends back until the burst ends, so that many sends leave together.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace exs {

// The longest time between two sends of a burst that holds nothing back. After it the later send begins
// another burst, for threads that wait on other queues, or not at all.
inline constexpr std::uint64_t kSameBurstNs = 10'000;

// A session that has posted in the current burst. Thread: shard.
class BurstClient {
 public:
  virtual ~BurstClient() = default;
  virtual void burst_ended() = 0;
};

// Thread: shard, unless a method says otherwise.
class Bursts {
 public:
  // Notifies `client` once when this burst ends, unless it leaves before.
  void join(BurstClient& client) { members_.push_back(&client); }
  void leave(BurstClient& client) {
    std::erase(members_, &client);
    std::replace(ending_.begin(), ending_.end(), &client, static_cast<BurstClient*>(nullptr));
  }

  // Call it when bytes are held back. True: they are the first ones in this burst.
  [[nodiscard]] bool hold_bytes() {
    if (bytes_held_.load(std::memory_order_relaxed)) return false;
    bytes_held_ = true;
    return true;
  }
  // Undoes a hold_bytes() that returned true.
  void hold_nothing() { bytes_held_ = false; }
  // Thread: any.
  [[nodiscard]] bool holds_bytes() const { return bytes_held_; }

  // Ends the burst. False: no session has joined, and nothing is held back.
  bool end() {
    if (members_.empty() && !holds_bytes()) return false;
    bytes_held_ = false;
    ending_.swap(members_);
    // Iterates by index, because a member that leaves changes the vector.
    for (std::size_t i = 0; i < ending_.size(); ++i) {
      if (ending_[i] != nullptr) ending_[i]->burst_ended();
    }
    ending_.clear();
    return true;
  }

  // The engine had to end the last burst, and no thread has polled since, so its poster may not poll soon.
  void set_poster_overdue(bool overdue) { poster_overdue_ = overdue; }
  [[nodiscard]] bool poster_overdue() const { return poster_overdue_; }

 private:
  std::vector<BurstClient*> members_;
  std::vector<BurstClient*> ending_;     // the members that end() notifies
  std::atomic<bool> bytes_held_{false};  // seq_cst, pairs with Engine::standing_by_: one sees the other
  bool poster_overdue_ = false;
};

}  // namespace exs
