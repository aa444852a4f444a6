// A counter of completed transfers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "fabric/fid.h"
#include "fabric/reaper.h"

namespace exs::fabric {

// Thread: any.
class Counter final : public Object<Counter, fid_cntr> {
 public:
  Counter(bool can_wait, void* context);

  void add(std::uint64_t value) noexcept {
    change(value_, [value](std::uint64_t old) { return old + value; });
  }
  void add_error(std::uint64_t value) noexcept {
    change(errors_, [value](std::uint64_t old) { return old + value; });
  }
  void set(std::uint64_t value) noexcept {
    change(value_, [value](std::uint64_t) { return value; });
  }
  void set_error(std::uint64_t value) noexcept {
    change(errors_, [value](std::uint64_t) { return value; });
  }
  [[nodiscard]] std::uint64_t value() noexcept { return value_.load(std::memory_order_seq_cst); }
  [[nodiscard]] std::uint64_t errors() noexcept { return errors_.load(std::memory_order_seq_cst); }
  // Returns 0, -FI_ETIMEDOUT, or -FI_EAVAIL if a transfer has failed meanwhile.
  int wait(std::uint64_t threshold, int timeout_ms);
  [[nodiscard]] Reaper& reaper() noexcept { return reaper_; }
  [[nodiscard]] bool is_used() noexcept { return reaper_.is_used(); }
  [[nodiscard]] int descriptor() const noexcept { return reaper_.descriptor(); }

 private:
  template <typename Change>
  void change(std::atomic<std::uint64_t>& number, Change&& make) {
    std::uint64_t old = number.load(std::memory_order_relaxed);
    while (!number.compare_exchange_weak(old, make(old), std::memory_order_seq_cst)) continue;
    reaper_.wake();
  }

  Reaper reaper_;
  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint64_t> errors_{0};
};

int open_counter(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** counter, void* context);

}  // namespace exs::fabric
