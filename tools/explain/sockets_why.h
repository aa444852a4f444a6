// Why a connection does not take shared memory, or not now, by what both of its ends say.
#pragma once

#include <optional>
#include <string>

#include "tools/explain/sockets_family.h"

namespace explain {

struct Explanation {
  std::string code;  // empty: there is nothing to explain
  std::string fact;
  std::string cure;
};

// Thread: immutable value.
struct Ends {
  const SlotFacts* slot = nullptr;     // null: the layer does not know the connection
  const SlotFacts* peer = nullptr;     // null: what the other end knows of it cannot be told
  std::optional<bool> peer_is_loaded;  // none: nor can it be told which program that is
  bool is_redirected = false;
};

Explanation why_not(const Ends& ends);

}  // namespace explain
