// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/window_tokens.h"

#include <sys/random.h>

#include <utility>

namespace exs::rpc {

std::uint64_t WindowTokens::give(std::weak_ptr<Binding> binding) {
  std::uint64_t token = 0;
  if (getrandom(&token, sizeof token, GRND_NONBLOCK) != sizeof token || token == 0) return 0;
  const std::lock_guard lock(mutex_);
  return bindings_.emplace(token, std::move(binding)).second ? token : 0;
}

std::shared_ptr<Binding> WindowTokens::take(std::uint64_t token) {
  const std::lock_guard lock(mutex_);
  const auto found = bindings_.find(token);
  if (found == bindings_.end()) return nullptr;
  std::shared_ptr<Binding> binding = found->second.lock();
  bindings_.erase(found);
  return binding;
}

void WindowTokens::drop(std::uint64_t token) {
  const std::lock_guard lock(mutex_);
  bindings_.erase(token);
}

}  // namespace exs::rpc
