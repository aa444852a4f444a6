// Completions on their way to Port::poll, each with the object it belongs to.
#pragma once

#include <span>

#include "src/base/fifo.h"
#include "src/provider/provider.h"

namespace exs::iwarp {

// Thread: shard.
class CompletionQueue {
 public:
  void push(const void* owner, const Completion& completion) { entries_.push_back({owner, completion}); }
  std::size_t take(std::span<Completion> out) {
    std::size_t taken = 0;
    while (taken < out.size() && !entries_.empty()) {
      const Entry entry = entries_.pop_front();
      if (entry.owner != nullptr) out[taken++] = entry.completion;
    }
    return taken;
  }
  // A destroyed owner's completions are not delivered any more.
  void forget(const void* owner) noexcept {
    for (std::size_t i = 0; i < entries_.count(); ++i) {
      if (entries_[i].owner == owner) entries_[i].owner = nullptr;
    }
  }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

 private:
  struct Entry {
    const void* owner = nullptr;
    Completion completion;
  };
  Fifo<Entry> entries_;
};

}  // namespace exs::iwarp
