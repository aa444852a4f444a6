// A first-in first-out queue in one growing ring: indexable from the head, no allocation once it has its
// size.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "src/base/log.h"

namespace exs {

// Thread: the owner's.
template <typename T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // References stay good until the next push_back.
  T& push_back(T value) {
    if (count_ == slots_.size()) grow();
    T& slot = slots_[(head_ + count_) & (slots_.size() - 1)];
    slot = std::move(value);
    ++count_;
    return slot;
  }

  [[nodiscard]] T& operator[](std::size_t index) {
    EXS_CHECK(index < count_);
    return slots_[(head_ + index) & (slots_.size() - 1)];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const { return const_cast<Fifo&>(*this)[index]; }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] T& back() { return (*this)[count_ - 1]; }

  T pop_front() {
    T value = std::move(front());
    slots_[head_] = T{};
    head_ = (head_ + 1) & (slots_.size() - 1);
    --count_;
    return value;
  }

  void clear() {
    while (!empty()) pop_front();
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> slots_;  // size is zero or a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace exs
