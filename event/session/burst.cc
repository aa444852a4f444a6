// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/burst.h"

namespace exs {
namespace {

// The end of a burst predicts the next one for this time.
constexpr std::uint64_t kExampleNs = 100'000;

}  // namespace

bool Burst::begins_with_next_send(bool combines) {
  shard_.assert_held();
  if (begun_ && combines) return false;
  const std::uint64_t now_ns = begun_ ? shard_.clock().now_ns() : shard_.polled_ns();
  const std::uint64_t apart_ns = now_ns - at_ns_;
  at_ns_ = now_ns;
  return apart_ns > (begun_ ? kSameBurstNs : kExampleNs);
}

void Burst::extend() {
  shard_.assert_held();
  if (begun_) return;
  begun_ = true;
  shard_.begin_burst(client_);
}

void Burst::ended() {
  shard_.assert_held();
  begun_ = false;
  at_ns_ = shard_.polled_ns();
}

void Burst::leave() {
  shard_.assert_held();
  if (begun_) shard_.leave_burst(client_);
  begun_ = false;
}

}  // namespace exs
