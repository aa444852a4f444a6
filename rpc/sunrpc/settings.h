// EXS_SUNRPC, EXS_SUNRPC_AFTER, EXS_SUNRPC_PORT and EXS_SUNRPC_VARIANT (exs-sunrpc(7)). Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::rpc {

enum class LinkUse { kOff, kAuto, kRequire };

struct SunRpcSettings {
  LinkUse use = LinkUse::kAuto;
  std::uint32_t after = 3;  // calls of a handle by TCP before it asks for a link
  std::uint16_t port = 0;   // of the server's exs socket; 0: any
  bool is_reduced = false;  // messages use memory that is not registered
};

// Reads the environment once.
const SunRpcSettings& settings();

}  // namespace exs::rpc
