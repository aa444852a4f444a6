// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/counter.h"

#include <chrono>

namespace exs::fabric {
namespace {

using Clock = std::chrono::steady_clock;

extern fi_ops counter_fid_ops;
extern fi_ops_cntr counter_ops;

}  // namespace

Counter::Counter(bool can_wait, void* context)
    : Object(FI_CLASS_CNTR, counter_fid_ops, context), reaper_(can_wait) {
  handle()->ops = &counter_ops;
}

int Counter::wait(std::uint64_t threshold, int timeout_ms) {
  if (!reaper_.can_wait()) return -FI_ENOSYS;
  const std::uint64_t errors_before = errors();
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto is_over = [&] { return value() >= threshold || errors() != errors_before; };
  for (;;) {
    reaper_.reap();
    if (is_over()) return value() >= threshold ? 0 : -FI_EAVAIL;
    const auto now = Clock::now();
    if (timeout_ms >= 0 && now >= end) return -FI_ETIMEDOUT;
    // A count before the arming has woken nobody.
    if (!reaper_.arm() || is_over()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
    if (const int ready = reaper_.sleep(timeout_ms < 0 ? -1 : static_cast<int>(left.count())); ready < 0)
      return ready;
  }
}

namespace {

// Returns the counter, up to date.
Counter& looked_at(fid_cntr* counter) noexcept {
  Counter& self = Counter::of(counter);
  guarded([&]() -> int {
    self.reaper().reap();
    return 0;
  });
  return self;
}

std::uint64_t read_value(fid_cntr* counter) {
  return looked_at(counter).value();
}

std::uint64_t read_errors(fid_cntr* counter) {
  return looked_at(counter).errors();
}

template <void (Counter::*change)(std::uint64_t)>
int change_counter(fid_cntr* counter, std::uint64_t value) {
  (Counter::of(counter).*change)(value);
  return 0;
}

int wait_for_value(fid_cntr* counter, std::uint64_t threshold, int timeout_ms) {
  return guarded([&] { return Counter::of(counter).wait(threshold, timeout_ms); });
}

fi_ops counter_fid_ops = fid_ops(close_unused<Counter>, kNotHere, tell_descriptor<Counter>);

fi_ops_cntr counter_ops = {.size = sizeof(fi_ops_cntr),
                           .read = read_value,
                           .readerr = read_errors,
                           .add = change_counter<&Counter::add>,
                           .set = change_counter<&Counter::set>,
                           .wait = wait_for_value,
                           .adderr = change_counter<&Counter::add_error>,
                           .seterr = change_counter<&Counter::set_error>};

}  // namespace

int open_counter(fid_domain* /*domain*/, fi_cntr_attr* attr, fid_cntr** counter, void* context) {
  return guarded([&]() -> int {
    const fi_wait_obj wait = attr->wait_obj;
    if (!is_offered(wait)) return -FI_ENOSYS;
    if (attr->events != FI_CNTR_EVENTS_COMP) return -FI_ENOSYS;
    if (attr->flags != 0) return -FI_EBADFLAGS;
    *counter = (new Counter(wait != FI_WAIT_NONE, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
