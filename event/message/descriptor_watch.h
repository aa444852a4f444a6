// Watches a foreign descriptor on a shard.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

#include <functional>
#include <memory>
#include <utility>

#include "event/engine/readiness.h"
#include "event/engine/shard.h"

namespace exs {

class DescriptorWatch final : public CompletionClient, public std::enable_shared_from_this<DescriptorWatch> {
 public:
  // `take` is called, under the drive lock, whenever the descriptor is readable, until it says false.
  static std::shared_ptr<DescriptorWatch> start(const std::shared_ptr<Shard>& shard, int descriptor,
                                                std::function<bool()> take) {
    auto made = std::make_shared<DescriptorWatch>(shard, descriptor, std::move(take));
    shard->carry_out([&] { made->begin(); });
    return made;
  }
  DescriptorWatch(std::shared_ptr<Shard> shard, int descriptor, std::function<bool()> take)
      : shard_(std::move(shard)), descriptor_(descriptor), take_(std::move(take)) {}

  // Call it before the descriptor is closed.
  void stop() {
    shard_->carry_out([&] { end(); });
  }

  // --- Thread: shard ---
  void complete(const Completion& completion) override {
    if (completion.kind != CompletionKind::kReadiness || !take_) return;
    const auto take = take_;
    if (take()) {
      watch();
    } else {
      end();
    }
  }

 private:
  void begin() {
    shard_->assert_held();
    token_ = shard_->attach(shared_from_this());
    watch();
  }
  void watch() {
    shard_->assert_held();
    const auto readiness = shard_->readiness();
    if (!readiness || !(*readiness)->watch(descriptor_, EPOLLIN, token_).ok()) end();
  }
  void end() {
    shard_->assert_held();
    if (!take_) return;
    // Its caller may be what ends.
    const auto ended = std::exchange(take_, {});
    if (const auto readiness = shard_->readiness()) (*readiness)->unwatch(descriptor_, token_);
    shard_->detach(token_);
  }

  const std::shared_ptr<Shard> shard_;
  const int descriptor_;
  std::function<bool()> take_;
  std::uint64_t token_ = 0;
};

}  // namespace exs
