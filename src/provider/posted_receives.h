// The receives posted on a link that no message has taken yet. The last one posted takes the next message.
// Its memory is warm in the cache, and a connection touches memory only for as many messages as have waited
// at once.
//
// A connection posts equal pieces of one range of memory, with tokens at equal distances. Neighbours are kept
// as one run, so some 70 receives of an idle connection cost as much as one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace exs {

struct PostedReceive {
  std::span<std::byte> memory;
  std::uint64_t token = 0;
};

// Thread: shard.
class PostedReceives {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  void push(const PostedReceive& receive) {
    if (runs_.empty() || !runs_.back().takes(receive)) {
      const auto bytes = static_cast<std::uint32_t>(receive.memory.size());
      runs_.push_back({receive.memory.data(), receive.token, 0, bytes, 1});
    }
    ++count_;
  }
  // The last one posted; there must be one.
  [[nodiscard]] PostedReceive last() const noexcept { return runs_.back().at(runs_.back().count - 1); }
  void pop() noexcept {
    --count_;
    if (--runs_.back().count == 0) runs_.pop_back();
  }

  // The oldest first.
  template <typename Each>
  void for_each(Each&& each) const {
    for (const Run& run : runs_) {
      for (std::uint32_t i = 0; i < run.count; ++i) each(run.at(i));
    }
  }
  void clear() noexcept { *this = PostedReceives(); }

 private:
  struct Run {
    std::byte* start = nullptr;
    std::uint64_t first_token = 0;
    std::uint64_t token_step = 0;  // from the second on
    std::uint32_t bytes = 0;       // of each
    std::uint32_t count = 0;

    [[nodiscard]] PostedReceive at(std::uint32_t index) const noexcept {
      return {{start + std::size_t{index} * bytes, bytes}, first_token + index * token_step};
    }
    // Returns whether it continues the run, and adds it then.
    bool takes(const PostedReceive& receive) noexcept {
      if (receive.memory.data() != start + std::size_t{count} * bytes || receive.memory.size() != bytes)
        return false;
      if (count == 1) token_step = receive.token - first_token;
      if (receive.token != first_token + count * token_step) return false;
      ++count;
      return true;
    }
  };

  std::vector<Run> runs_;
  std::size_t count_ = 0;
};

}  // namespace exs
