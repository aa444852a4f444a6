// Bursts: what a thread posts between two polls of the network. A session may hold the bytes of small sends
// back until its burst ends, so that many leave together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace exs {

// Posted in the current burst. Thread: shard.
class BurstClient {
 public:
  virtual ~BurstClient() = default;
  virtual void burst_ended() = 0;
};

// Thread: shard, unless a method says otherwise.
class Bursts {
 public:
  // `client` hears of the end of this burst, once, unless it leaves before.
  void join(BurstClient& client) { members_.push_back(&client); }
  void leave(BurstClient& client) {
    std::erase(members_, &client);
    std::replace(ending_.begin(), ending_.end(), &client, static_cast<BurstClient*>(nullptr));
  }

  // A member holds bytes back. True: it is the first one of this burst.
  [[nodiscard]] bool hold_bytes() {
    if (bytes_held_.load(std::memory_order_relaxed)) return false;
    bytes_held_ = true;
    return true;
  }
  // Thread: any.
  [[nodiscard]] bool holds_bytes() const { return bytes_held_; }

  // False: nobody has posted.
  bool end() {
    if (members_.empty()) return false;
    bytes_held_ = false;
    ending_.swap(members_);
    // Not by iterator: a member that leaves changes what is here.
    for (std::size_t i = 0; i < ending_.size(); ++i) {
      if (ending_[i] != nullptr) ending_[i]->burst_ended();
    }
    ending_.clear();
    return true;
  }

  // The engine had to end the last burst, and no thread has polled since: its poster is not trusted to come
  // back soon.
  void set_poster_overdue(bool overdue) { poster_overdue_ = overdue; }
  [[nodiscard]] bool poster_overdue() const { return poster_overdue_; }

 private:
  std::vector<BurstClient*> members_;
  std::vector<BurstClient*> ending_;     // what end() works on
  std::atomic<bool> bytes_held_{false};  // seq_cst, pairs with Engine::standing_by_: one sees the other
  bool poster_overdue_ = false;
};

}  // namespace exs
