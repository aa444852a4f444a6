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
  for (;;) {
    reaper_.reap();
    const bool is_quiet = reaper_.arm();
    if (value() >= threshold) return 0;
    if (errors() != errors_before) return -FI_EAVAIL;
    const auto now = Clock::now();
    if (timeout_ms >= 0 && now >= end) return -FI_ETIMEDOUT;
    if (!is_quiet) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
    if (const int ready = reaper_.sleep(timeout_ms < 0 ? -1 : static_cast<int>(left.count())); ready < 0)
      return ready;
  }
}

namespace {

std::uint64_t read_value(fid_cntr* counter) {
  Counter& self = Counter::of(counter);
  guarded([&]() -> int {
    self.reaper().reap();
    return 0;
  });
  return self.value();
}

std::uint64_t read_errors(fid_cntr* counter) {
  Counter& self = Counter::of(counter);
  guarded([&]() -> int {
    self.reaper().reap();
    return 0;
  });
  return self.errors();
}

int add_value(fid_cntr* counter, std::uint64_t value) {
  Counter::of(counter).add(value);
  return 0;
}

int set_value(fid_cntr* counter, std::uint64_t value) {
  Counter::of(counter).set(value);
  return 0;
}

int add_errors(fid_cntr* counter, std::uint64_t value) {
  Counter::of(counter).add_error(value);
  return 0;
}

int set_errors(fid_cntr* counter, std::uint64_t value) {
  Counter::of(counter).set_error(value);
  return 0;
}

int wait_for_value(fid_cntr* counter, std::uint64_t threshold, int timeout_ms) {
  return guarded([&] { return Counter::of(counter).wait(threshold, timeout_ms); });
}

int close_counter(fid_t fid) noexcept {
  Counter& self = Counter::of(fid);
  if (self.reaper().is_used()) return -FI_EBUSY;
  delete &self;
  return 0;
}

int control_counter(fid* fid, int command, void* argument) noexcept {
  if (command != FI_GETWAIT) return -FI_ENOSYS;
  Reaper& reaper = Counter::of(fid).reaper();
  if (!reaper.can_wait()) return -FI_ENODATA;
  *static_cast<int*>(argument) = reaper.descriptor();
  return 0;
}

fi_ops counter_fid_ops = {.size = sizeof(fi_ops),
                          .close = close_counter,
                          .bind = kNotHere,
                          .control = control_counter,
                          .ops_open = kNotHere,
                          .tostr = nullptr,
                          .ops_set = nullptr};

fi_ops_cntr counter_ops = {.size = sizeof(fi_ops_cntr),
                           .read = read_value,
                           .readerr = read_errors,
                           .add = add_value,
                           .set = set_value,
                           .wait = wait_for_value,
                           .adderr = add_errors,
                           .seterr = set_errors};

}  // namespace

int open_counter(fid_domain* /*domain*/, fi_cntr_attr* attr, fid_cntr** counter, void* context) {
  return guarded([&]() -> int {
    const fi_wait_obj wait = attr->wait_obj;
    if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD) return -FI_ENOSYS;
    if (attr->events != FI_CNTR_EVENTS_COMP) return -FI_ENOSYS;
    if (attr->flags != 0) return -FI_EBADFLAGS;
    *counter = (new Counter(wait != FI_WAIT_NONE, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
