// Tokens that tie a window's connection to its client: given on request, and valid once. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace exs::rpc {

class Binding;

class WindowTokens {
 public:
  // Makes a random token. Returns 0 if the kernel has no random bytes. Throws std::bad_alloc.
  std::uint64_t give(std::weak_ptr<Binding> binding);
  // Returns NULL if the token is invalid, or its binding has ended.
  std::shared_ptr<Binding> take(std::uint64_t token);
  void drop(std::uint64_t token);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Binding>> bindings_;
};

}  // namespace exs::rpc
