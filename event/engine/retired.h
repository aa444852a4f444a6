// The rest of an ended session. The shard destroys it after the batch of completions, because one of these
// may be its own.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/provider/provider.h"

namespace exs {

namespace proto {
class Connection;
}  // namespace proto

struct Retired {
  std::unique_ptr<Link> link;
  std::unique_ptr<proto::Connection> connection;  // destroyed before its link
};

}  // namespace exs
