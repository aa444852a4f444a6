// Completions on their way to Port::poll. Those of a destroyed link or listener are not delivered. There is always room for
// the last one of each source, so a source can end for want of memory.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <new>
#include <span>

#include "base/fifo.h"
#include "src/provider/provider.h"

namespace exs {

// The source by which a link or listener pushes completions. It may go at any time, in constant time for any
// number of waiting completions. Thread: shard.
class CompletionQueue {
 public:
  struct Source {
    CompletionQueue& queue;
    bool alive = true;
    bool has_ended = false;     // its last one has been pushed
    std::uint32_t waiting = 0;  // entries that name it
  };
  struct Remover {
    void operator()(Source* source) const noexcept {
      source->alive = false;
      if (!source->has_ended) --source->queue.unended_;
      if (source->waiting == 0) delete source;
    }
  };
  // Outlived by the queue.
  using SourceHandle = std::unique_ptr<Source, Remover>;

  CompletionQueue() = default;
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  ~CompletionQueue() {
    while (!entries_.empty()) pop();
  }

  SourceHandle make_source() {
    make_room();
    SourceHandle source(new Source{*this});
    ++unended_;
    return source;
  }

  // The next push() needs no memory.
  void make_room() { entries_.reserve(entries_.count() + unended_ + 1); }
  void push(Source& source, const Completion& completion) {
    make_room();
    append(source, completion);
  }
  // For the remaining posts when a source ends: without memory for one, the last completion stands for it.
  void push_if_room(Source& source, const Completion& completion) noexcept {
    try {
      push(source, completion);
    } catch (const std::bad_alloc&) {
    }
  }
  void push_last(Source& source, const Completion& completion) noexcept {
    if (source.has_ended) return push_if_room(source, completion);
    source.has_ended = true;
    --unended_;
    append(source, completion);
  }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  // Fills `out` as far as there are completions; returns how many were written.
  std::size_t take(std::span<Completion> out) {
    std::size_t taken = 0;
    while (taken < out.size() && !entries_.empty()) {
      const Completion completion = entries_.front().completion;
      if (pop()) out[taken++] = completion;
    }
    return taken;
  }

 private:
  struct QueuedCompletion {
    Source* source = nullptr;
    Completion completion;
  };

  void append(Source& source, const Completion& completion) {
    ++source.waiting;
    entries_.push_back({&source, completion});
  }
  // Returns whether the entry's source is still there.
  bool pop() {
    Source* const source = entries_.pop_front().source;
    const bool alive = source->alive;
    if (--source->waiting == 0 && !alive) delete source;
    return alive;
  }

  Fifo<QueuedCompletion> entries_;
  std::size_t unended_ = 0;  // sources whose last one is still to come
};

}  // namespace exs
