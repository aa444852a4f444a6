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
    value_.fetch_add(value, std::memory_order_seq_cst);
    reaper_.wake();
  }
  void add_error(std::uint64_t value) noexcept {
    errors_.fetch_add(value, std::memory_order_seq_cst);
    reaper_.wake();
  }
  void set(std::uint64_t value) noexcept {
    value_.store(value, std::memory_order_seq_cst);
    reaper_.wake();
  }
  void set_error(std::uint64_t value) noexcept {
    errors_.store(value, std::memory_order_seq_cst);
    reaper_.wake();
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.load(std::memory_order_seq_cst); }
  // FI_ETIMEDOUT, or FI_EAVAIL if a transfer has failed meanwhile.
  Status wait(std::uint64_t threshold, int timeout_ms);
  [[nodiscard]] Reaper& reaper() noexcept { return reaper_; }
  [[nodiscard]] bool is_used() noexcept { return reaper_.is_used(); }
  [[nodiscard]] int descriptor() const noexcept { return reaper_.descriptor(); }

 private:
  Reaper reaper_;
  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint64_t> errors_{0};
};

int open_counter(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** counter, void* context);

}  // namespace exs::fabric
