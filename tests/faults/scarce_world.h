// What a round of failing allocations works with: two ends in one process, and the operations that are open. Whatever goes
// wrong is told to violation().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/exs_fixture.h"
#include "tests/support/failing_allocations.h"

namespace exs::test {

// The most allocations that fail one after the other.
inline constexpr std::uint32_t kInARow = 5;
inline constexpr std::size_t kSmallBytes = 64;
inline constexpr std::size_t kLargeBytes = 200'000;

// What a round tells its parent.
struct Report {
  bool failed = false;  // an allocation did
  char violation[200] = "";
};
extern Report* report;
// Keeps the first one.
void violation(const std::string& what);

// Makes a call of the library, whose allocations are counted.
template <typename Call>
auto counted(Call call) {
  const CountedCall scope;
  return call();
}

class World {
 public:
  static constexpr std::size_t kOperationsMax = 64;

  World() { memory.fill(3); }

  InitializedLibrary library;
  Memory memory{4 * kLargeBytes};
  exs_qhandle_t queue = exs_qcreate(256);
  exs_phandle_t pool = EXS_PHANDLE_INVALID;
  bool library_has_ended = false;

  // Posts an operation, which the call accepts or refuses.
  template <typename Call>
  bool post(int type, Call call) {
    Operation& operation = operations_[used_++];
    operation = {type, true};
    const int result = counted([&] { return call(static_cast<exs_ahandle_t>(&operation)); });
    if (result != 0) refused(operation);
    return result == 0;
  }
  // Takes events until no operation is open, `but` for so many, or a connect has failed, for at most so many looks of 20 ms.
  void await_all(int looks, std::size_t but = 0);
  [[nodiscard]] std::size_t open() const;
  // Closes the socket at the end.
  int keep(int socket);
  void close_all();
  void check_nothing_is_used();

  int listener = -1, left = -1, right = -1;
  // Leaves `left` and `right` connected, if nothing fails.
  void connect(int type, int accept_flags = 0, int limit_ms = 400);
  void accept(int flags = 0);

 private:
  struct Operation {
    int type = 0;
    bool is_open = false;
  };
  static void refused(Operation& operation);
  void take(const exs_event_t& event);
  void take_one_of_many(const exs_event_t& event);

  bool connect_failed_ = false;
  std::array<Operation, kOperationsMax> operations_{};
  std::size_t used_ = 0;
  std::array<int, 16> sockets_{};
  std::size_t sockets_used_ = 0;
};

}  // namespace exs::test
