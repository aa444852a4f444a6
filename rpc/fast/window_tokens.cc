// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/window_tokens.h"

#include <utility>

#include "base/random.h"

namespace exs::rpc {

std::uint64_t WindowTokens::make_token(std::weak_ptr<Binding> binding) {
  const Result<std::uint64_t> token = draw<std::uint64_t>();
  if (!token || *token == 0) return 0;
  const LockGuard lock(mutex_);
  return bindings_.emplace(*token, std::move(binding)).second ? *token : 0;
}

std::shared_ptr<Binding> WindowTokens::take_token(std::uint64_t token) {
  const LockGuard lock(mutex_);
  const auto found = bindings_.find(token);
  if (found == bindings_.end()) return nullptr;
  std::shared_ptr<Binding> binding = found->second.lock();
  bindings_.erase(found);
  return binding;
}

void WindowTokens::drop_token(std::uint64_t token) {
  const LockGuard lock(mutex_);
  bindings_.erase(token);
}

}  // namespace exs::rpc
