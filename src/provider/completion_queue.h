// Completions on their way to Port::poll. Those of a destroyed link or listener are not delivered.
#pragma once

#include <memory>
#include <span>

#include "src/base/fifo.h"
#include "src/provider/provider.h"

namespace exs {

// What a link or listener pushes completions with. It may go at any time, in constant time whatever waits.
// Thread: shard.
class CompletionQueue {
 public:
  struct Source {
    bool alive = true;
    std::uint32_t waiting = 0;  // entries that name it
  };
  struct Remover {
    void operator()(Source* source) const noexcept {
      source->alive = false;
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

  static SourceHandle make_source() { return SourceHandle(new Source); }

  void push(Source& source, const Completion& completion) {
    ++source.waiting;
    entries_.push_back({&source, completion});
  }
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
  struct Entry {
    Source* source = nullptr;
    Completion completion;
  };

  // Whether the entry's source is still there.
  bool pop() {
    Source* const source = entries_.pop_front().source;
    const bool alive = source->alive;
    if (--source->waiting == 0 && !alive) delete source;
    return alive;
  }

  Fifo<Entry> entries_;
};

}  // namespace exs
