// The memory parts of a program's call, and the progress through them. Thread: the call's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>

#include "sockets/preload/kernel/reach.h"

namespace exs::sockets {

class Parts {
 public:
  // The kernel moves no more in one call.
  static constexpr std::size_t kBytesMax = 0x7ffff000;

  Parts(const iovec* first, std::size_t count) noexcept : part_(first), end_(first + count) {
    for (std::size_t i = 0; i < count; ++i) left_ += first[i].iov_len;
    left_ = std::min(left_, kBytesMax);
    skip_empty();
  }

  [[nodiscard]] std::size_t left() const noexcept { return left_; }

  // Copies the next `count` bytes of the program's memory and advances.
  void copy_to(void* to, std::size_t count) noexcept {
    auto* place = static_cast<std::byte*>(to);
    each(count, [&](std::byte* memory, std::size_t bytes) {
      failed_ = failed_ || !copy_reached(place, memory, bytes);
      place += bytes;
    });
  }
  void copy_from(const void* from, std::size_t count) noexcept {
    const auto* place = static_cast<const std::byte*>(from);
    each(count, [&](std::byte* memory, std::size_t bytes) {
      failed_ = failed_ || !copy_reached(memory, place, bytes);
      place += bytes;
    });
  }
  // Some of the memory is not there, so the copy does not count.
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  void advance(std::size_t count) noexcept {
    each(count, [](std::byte*, std::size_t) {});
  }

  static constexpr std::size_t kBatchParts = 16;
  struct Batch {
    iovec parts[kBatchParts];
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  // The next parts for a call of the kernel: at most `limit` bytes and kBatchParts parts.
  [[nodiscard]] Batch batch(std::size_t limit) const noexcept {
    Batch batch;
    limit = std::min(limit, left_);
    std::size_t offset = offset_;
    for (const iovec* part = part_; part != end_ && batch.count < kBatchParts && limit > 0; ++part) {
      const std::size_t bytes = std::min(part->iov_len - offset, limit);
      if (bytes > 0) batch.parts[batch.count++] = {static_cast<std::byte*>(part->iov_base) + offset, bytes};
      batch.bytes += bytes;
      limit -= bytes;
      offset = 0;
    }
    return batch;
  }

 private:
  template <typename Use>
  void each(std::size_t count, Use&& use) noexcept {
    left_ -= count;
    while (count > 0) {
      const std::size_t bytes = std::min(part_->iov_len - offset_, count);
      use(static_cast<std::byte*>(part_->iov_base) + offset_, bytes);
      offset_ += bytes;
      count -= bytes;
      skip_empty();
    }
  }
  void skip_empty() noexcept {
    while (part_ != end_ && offset_ == part_->iov_len) {
      ++part_;
      offset_ = 0;
    }
  }

  const iovec* part_;
  const iovec* end_;
  std::size_t offset_ = 0;
  std::size_t left_ = 0;
  bool failed_ = false;
};

}  // namespace exs::sockets
