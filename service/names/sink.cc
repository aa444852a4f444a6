// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/sink.h"

#include <utility>

namespace exs::svc {

void Sink::put(Found found) {
  const LockGuard guard(lock_);
  if (!ring_) return;
  found_.push_back(std::move(found));
}

bool Sink::ring() {
  const LockGuard guard(lock_);
  return !ring_ || ring_();
}

std::vector<Sink::Found> Sink::take() {
  const LockGuard guard(lock_);
  return std::exchange(found_, {});
}

void Sink::close() {
  const LockGuard guard(lock_);
  ring_ = nullptr;
  found_.clear();
}

}  // namespace exs::svc
