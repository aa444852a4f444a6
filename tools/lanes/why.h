// Why a connection does not use shared memory, or not now, by the state of both ends.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "tools/lanes/family.h"

namespace lanes {

struct Explanation {
  std::string code;  // empty: there is nothing to explain
  std::string fact;
  std::string cure;
  std::string sentence = {};  // the fact of a connection without its numbers
};

// Thread: immutable value.
struct Ends {
  const SlotFacts* slot = nullptr;     // NULL: the layer does not know the connection
  const SlotFacts* peer = nullptr;     // NULL: the other end's state is unknown
  std::optional<bool> peer_is_loaded;  // empty: unknown, as is the program
  bool is_redirected = false;
};

Explanation why_not(const Ends& ends);

}  // namespace lanes
