// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/counter.h"

#include "base/clock.h"

namespace exs::fabric {
namespace {

extern fi_ops counter_fid_ops;
extern fi_ops_cntr counter_ops;

}  // namespace

Counter::Counter(bool can_wait, void* context)
    : Object(FI_CLASS_CNTR, counter_fid_ops, context), reaper_(can_wait) {
  handle()->ops = &counter_ops;
}

Status Counter::wait(std::uint64_t threshold, int timeout_ms) {
  if (!reaper_.can_wait()) return Status(FI_ENOSYS);
  const std::uint64_t errors_before = errors();
  const std::uint64_t end_ns = end_after_ms(timeout_ms);
  const auto is_over = [&] { return value() >= threshold || errors() != errors_before; };
  for (;;) {
    reaper_.reap();
    if (is_over()) return value() >= threshold ? Status() : Status(FI_EAVAIL);
    if (monotonic_ns() >= end_ns) return Status(FI_ETIMEDOUT);
    // A count before the arming has woken nobody.
    if (!reaper_.arm() || is_over()) continue;
    if (const Status slept = reaper_.sleep_until(end_ns); !slept.ok()) return slept;
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

fi_ops counter_fid_ops = fid_ops(close_unused<Counter>, kNotHere, get_descriptor<Counter>);

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
