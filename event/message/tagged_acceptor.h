// Listens for the other processes of a job.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>

#include "event/session/acceptor.h"

namespace exs {

class TaggedAcceptor final : public Acceptor {
 public:
  // Takes each request, on the acceptor's shard.
  using Take = std::function<void(AcceptableRequest request, const Reason& why_no_device)>;

  TaggedAcceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                 ListeningPoints points, const AcceptorOptions& options)
      : Acceptor(std::move(shard), std::move(descriptor), std::move(points), options, {}) {}

  // --- Thread: shard ---
  Status start(Take take) {
    take_ = std::move(take);
    return listen_once();
  }
  void stop() {
    take_ = {};
    close({});
  }
  void complete(const Completion& completion) override {
    if (completion.kind != CompletionKind::kRequest) return;
    while (take_) {
      AcceptableRequest next = take_request();
      if (!next.request) break;
      take_(std::move(next), why_no_device());
    }
  }

 private:
  Take take_;
};

}  // namespace exs
