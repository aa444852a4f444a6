// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/operation_table.h"

#include <unistd.h>

#include <cstdio>

#include "event/engine/shard.h"

namespace exs::test {
namespace {

constexpr std::uint64_t kSlotBits = 20;
constexpr std::uint64_t kToldMax = 10;

}  // namespace

OperationTable::OperationTable(std::size_t slots) : count_(slots), slots_(std::make_unique<Slot[]>(slots)) {
  for (std::size_t i = 0; i < slots; ++i) free_.push_back(i);
}

exs_ahandle_t OperationTable::handle_of(std::size_t slot, std::uint64_t generation) {
  return reinterpret_cast<exs_ahandle_t>((generation << kSlotBits) | (slot + 1));
}

std::optional<OperationTable::Ticket> OperationTable::begin(int event_type, std::uint64_t bound_ns) {
  std::size_t index = 0;
  {
    const std::lock_guard guard(mutex_);
    if (free_.empty()) return std::nullopt;
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  const std::uint64_t now_ns = monotonic_ns();
  slot.event_type = event_type;
  slot.begun_ns = now_ns;
  slot.bound_ns = now_ns + bound_ns;
  const std::uint64_t generation = slot.state.fetch_or(1) >> 1;
  ++open_;
  ++accepted_;
  return Ticket{index, handle_of(index, generation)};
}

bool OperationTable::release(std::size_t slot, std::uint64_t generation) {
  std::uint64_t taken = (generation << 1) | 1;
  if (!slots_[slot].state.compare_exchange_strong(taken, (generation + 1) << 1)) return false;
  --open_;
  const std::lock_guard guard(mutex_);
  free_.push_back(slot);
  return true;
}

void OperationTable::refused(const Ticket& ticket) {
  const auto bits = reinterpret_cast<std::uint64_t>(ticket.handle);
  --accepted_;
  if (!release(ticket.slot, bits >> kSlotBits)) violation("an event for a refused operation");
}

void OperationTable::relax(const Ticket& ticket, std::uint64_t bound_ns) {
  Slot& slot = slots_[ticket.slot];
  std::uint64_t before_ns = slot.bound_ns;
  const std::uint64_t taken = (reinterpret_cast<std::uint64_t>(ticket.handle) >> kSlotBits << 1) | 1;
  if (slot.state == taken) slot.bound_ns.compare_exchange_strong(before_ns, slot.begun_ns + bound_ns);
}

void OperationTable::ended(const exs_event_t& event) {
  const auto bits = reinterpret_cast<std::uint64_t>(event.exs_evt_ahandle);
  const std::size_t index = (bits & ((1U << kSlotBits) - 1)) - 1;
  if (index >= count_)
    return violation(std::string(exs_evtname(event.exs_evt_type)) + " with a handle of nobody");
  const int expected = slots_[index].event_type;
  if (event.exs_evt_errno != 0) ++errors_;
  if (!release(index, bits >> kSlotBits))
    return violation(std::string("a second ") + exs_evtname(event.exs_evt_type) + " for one operation");
  if (event.exs_evt_type != expected)
    violation(std::string(exs_evtname(event.exs_evt_type)) + " instead of " + exs_evtname(expected));
}

exs_ahandle_t OperationTable::some_handle(std::size_t random) const {
  const std::size_t index = random % count_;
  return handle_of(index, slots_[index].state.load() >> 1);
}

void OperationTable::look_for_overdue(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < count_; ++i) {
    Slot& slot = slots_[i];
    const std::uint64_t state = slot.state;
    std::uint64_t bound_ns = slot.bound_ns;
    if ((state & 1) == 0 || bound_ns > now_ns || slot.state != state) continue;
    if (!slot.bound_ns.compare_exchange_strong(bound_ns, UINT64_MAX)) continue;  // once
    violation(std::string(exs_evtname(slot.event_type)) + " overdue, begun " +
              std::to_string((now_ns - slot.begun_ns) / 1'000'000) + " ms ago");
  }
}

void OperationTable::report_open() {
  for (std::size_t i = 0; i < count_; ++i) {
    if ((slots_[i].state & 1) != 0)
      violation(std::string("no ") + exs_evtname(slots_[i].event_type) + " came");
  }
}

void OperationTable::violation(const std::string& what) {
  if (++violations_ <= kToldMax) std::fprintf(stderr, "process %d: %s\n", ::getpid(), what.c_str());
}

}  // namespace exs::test
