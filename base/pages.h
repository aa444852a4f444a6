// Memory mapped straight from the kernel: whole pages of zeros, resident only once touched, returned when the
// object dies. Use it for blocks that are mostly never touched: the heap would hand a freed block to other
// users, who touch it, and would build the next such block from pages that are resident already.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/kernel.h"
#include "base/status.h"

namespace exs {

// Thread: the owner's.
class Pages {
 public:
  // At least `length_bytes`, more than 0. ENOMEM.
  static Result<Pages> map(std::size_t length_bytes) {
    void* start =
        kernel::mmap(nullptr, length_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return failure(errno);
    // A huge page would become resident as a whole. A kernel without huge pages refuses the call, which
    // serves as well.
    kernel::madvise(start, length_bytes, MADV_NOHUGEPAGE);
    return Pages(static_cast<std::byte*>(start), length_bytes);
  }

  Pages() = default;
  ~Pages() {
    if (start_ != nullptr) kernel::munmap(start_, length_bytes_);
  }
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    Pages taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] std::byte* start() const noexcept { return start_; }

 private:
  Pages(std::byte* start, std::size_t length_bytes) noexcept : start_(start), length_bytes_(length_bytes) {}
  void swap(Pages& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(length_bytes_, other.length_bytes_);
  }

  std::byte* start_ = nullptr;
  std::size_t length_bytes_ = 0;
};

}  // namespace exs
