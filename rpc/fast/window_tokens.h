// Tokens that tie a window's connection to its client: given on request, and valid once. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/annotations.h"
#include "base/drive_lock.h"

namespace exs::rpc {

class Binding;

class WindowTokens {
 public:
  // Makes a random token. Returns 0 if the kernel has no random bytes. Throws std::bad_alloc.
  std::uint64_t make_token(std::weak_ptr<Binding> binding) EXS_EXCLUDES(mutex_);
  // Returns NULL if the token is invalid, or its binding has ended.
  std::shared_ptr<Binding> take_token(std::uint64_t token) EXS_EXCLUDES(mutex_);
  void drop_token(std::uint64_t token) EXS_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Binding>> bindings_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs::rpc
