// The operations that a stress test has posted, by application handle. The table checks that each accepted
// operation ends in exactly one event, and in time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exs/exs.h"

namespace exs::test {

// Thread: any.
class OperationTable {
 public:
  explicit OperationTable(std::size_t slots);

  struct Ticket {
    std::size_t slot = 0;
    exs_ahandle_t handle = nullptr;
  };
  // Call it before the post, because the event may come before the post returns. nullopt: no slot is free.
  std::optional<Ticket> begin(int event_type, std::uint64_t bound_ns);
  // The post was refused: no event may come.
  void refused(const Ticket& ticket);
  // Raises the bound of an operation.
  void relax(const Ticket& ticket, std::uint64_t bound_ns);
  // Checks an event of one of the operations, and removes the operation.
  void ended(const exs_event_t& event);
  // The handle of an operation that may have ended.
  [[nodiscard]] exs_ahandle_t some_handle(std::size_t random) const;

  // Counts the operations that have been open for longer than their bound.
  void look_for_overdue(std::uint64_t now_ns);
  [[nodiscard]] std::size_t open() const { return open_; }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }
  // Violations of the rules. The first few are printed.
  [[nodiscard]] std::uint64_t violations() const { return violations_; }
  void violation(const std::string& what);
  // Names the operations that are still open.
  void report_open();

 private:
  struct Slot {
    std::atomic<std::uint64_t> state{0};  // generation, and in bit 0 whether it is taken
    std::atomic<int> event_type{0};
    std::atomic<std::uint64_t> begun_ns{0};
    std::atomic<std::uint64_t> bound_ns{0};
  };
  static exs_ahandle_t handle_of(std::size_t slot, std::uint64_t generation);
  bool release(std::size_t slot, std::uint64_t generation);

  const std::size_t count_;
  const std::unique_ptr<Slot[]> slots_;
  std::atomic<std::size_t> open_{0};
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> violations_{0};
  std::mutex mutex_;
  std::vector<std::size_t> free_;
};

}  // namespace exs::test
