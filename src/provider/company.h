// A port's requests to its driver about messages without a waiter.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs {

// Thread: shard.
class Company {
 public:
  // True: a message may wait for others to leave with it, because Port::flush() follows within a moment.
  [[nodiscard]] virtual bool is_expected() = 0;

 protected:
  ~Company() = default;
};

}  // namespace exs
