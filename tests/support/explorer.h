// Runs a world of real objects on from every moment by everything that can happen next, until there is no moment that has not been
// seen. A world lives in the heaps of snapshot_heap.h, so that it can be put back.
//
// A world has
//   choices()             how many things may happen, at most
//   happens(choice)       lets one of them happen. False: it cannot now, and nothing has changed
//   wrong()               the first thing that is wrong; null: nothing is
//   end()                 called where nothing more can happen: looks whether that is as it must be
//   add_to(fingerprint)   adds all that a moment consists of
//   elsewhere()           memory of it outside of the heaps
//   name(choice)          for the report
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/snapshot_heap.h"

namespace exs::test {

// The fingerprints of the moments that have been seen.
class SeenMoments {
 public:
  // True: it is new.
  bool insert(const Fingerprint& moment) {
    if (2 * ++count_ > table_.size()) grow();
    return put(moment) || (--count_, false);
  }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  bool put(const Fingerprint& moment) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = moment.first() & mask;; at = (at + 1) & mask) {
      if (table_[at] == moment) return false;
      if (!table_[at].is_empty()) continue;
      table_[at] = moment;
      return true;
    }
  }
  void grow() {
    std::vector<Fingerprint> before(table_.size() * 2);
    before.swap(table_);
    for (const Fingerprint& moment : before)
      if (!moment.is_empty()) put(moment);
  }

  std::vector<Fingerprint> table_ = std::vector<Fingerprint>(1 << 16);
  std::size_t count_ = 0;
};

struct Explored {
  std::size_t moments = 0;
  std::size_t steps = 0;
  std::size_t ends = 0;  // ways in which everything came to rest, as moments
  std::size_t deepest = 0;
  std::string wrong;  // and the way to it; empty: all well
};

template <typename World>
class Explorer {
 public:
  // Explores the world that `make` returns, in the heap of Place::kWhole.
  template <typename Make>
  static Explored run(const Make& make, std::size_t moments_max) {
    SnapshotHeaps::clear();
    World* world = nullptr;
    {
      const InPlace whole(Place::kWhole);
      world = make();
    }
    Explorer explorer(*world);
    explorer.explore(moments_max);
    explorer.result_.moments = explorer.seen_.size();
    {
      const InPlace whole(Place::kWhole);
      explorer.moments_.front()->put_back(explorer.elsewhere_);
      delete world;
    }
    return std::move(explorer.result_);
  }

 private:
  explicit Explorer(World& world) : world_(world), elsewhere_(world.elsewhere()) {}

  void explore(std::size_t moments_max) {
    if (const char* const wrong = world_.wrong()) result_.wrong = wrong;
    enter();
    while (!way_.empty() && result_.wrong.empty()) {
      if (seen_.size() > moments_max) result_.wrong = "there are more moments than expected";
      if (go_on()) continue;
      way_.pop_back();
      is_there_ = false;
    }
  }

  struct At {
    unsigned next = 0;  // choice
    bool is_end = true;
  };

  // By the next choice from the last moment of the way. False: there is none.
  bool go_on() {
    for (;;) {
      At& at = way_.back();
      if (!is_there_) put_back();
      if (at.next == world_.choices()) {
        if (at.is_end) look_at_end();
        return false;
      }
      const unsigned choice = at.next++;
      clear_stack();
      if (!world_.happens(choice)) continue;
      at.is_end = false;
      is_there_ = false;
      ++result_.steps;
      if (const char* const wrong = world_.wrong()) return tell(wrong), true;
      Fingerprint moment;
      world_.add_to(moment);
      if (!seen_.insert(moment)) continue;
      enter();
      return true;
    }
  }
  void enter() {
    if (moments_.size() == way_.size()) moments_.push_back(std::make_unique<SnapshotHeaps>());
    moments_[way_.size()]->save(elsewhere_);
    way_.emplace_back();
    is_there_ = true;
    result_.deepest = std::max(result_.deepest, way_.size());
  }
  void put_back() {
    moments_[way_.size() - 1]->put_back(elsewhere_);
    is_there_ = true;
  }
  void look_at_end() {
    ++result_.ends;
    is_there_ = false;
    world_.end();
    if (const char* const wrong = world_.wrong()) {
      way_.back().next = 0;
      tell(wrong);
    }
  }
  void tell(const char* wrong) {
    result_.wrong = wrong;
    for (const At& at : way_)
      if (at.next > 0) result_.wrong += std::string("\n  ") + world_.name(at.next - 1);
  }

  // Padding of objects comes from there.
  [[gnu::noinline]] static void clear_stack() {
    std::array<std::byte, 8192> stack;
    std::memset(stack.data(), 0, stack.size());
    asm volatile("" : : "r"(stack.data()) : "memory");
  }

  World& world_;
  const std::vector<std::span<std::byte>> elsewhere_;
  SeenMoments seen_;
  std::vector<std::unique_ptr<SnapshotHeaps>> moments_;  // one for each place of the longest way
  std::vector<At> way_;
  bool is_there_ = false;  // the world is at the end of the way
  Explored result_;
};

}  // namespace exs::test
