// SPDX-License-Identifier: BSD-2-Clause
#include "perf/rpc_ping/way.h"

#include "tools/common/failure.h"

namespace rpc_ping {

void Caller::begin(std::span<char> /*bytes*/) {
  throw tools::UsageError(
      "of this way one call is under way at a time; --way stubs and mapped may have more");
}
void Caller::end(std::span<char> /*bytes*/) {}

}  // namespace rpc_ping
