// A port's view of a listening socket's IDs: it looks at their events and hands out requests.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "src/provider/verbs/port_context.h"
#include "src/provider/verbs/process_listener.h"

namespace exs::verbs {

// Thread: shard.
class VerbsPortListener final : public PortListener, private Pollable {
 public:
  VerbsPortListener(PortContext& context, VerbsProcessListener& listening, std::uint64_t token)
      : context_(context), listening_(listening), token_(token) {}
  ~VerbsPortListener() override { context_.poller.remove(listening_.channel().descriptor()); }

  Status start() { return context_.poller.add(listening_.channel().descriptor(), EPOLLIN, *this); }
  std::unique_ptr<ConnectionRequest> next_request() override { return listening_.next_request(); }

 private:
  void ready(std::uint32_t events) override {
    context_.completions.make_room();
    const std::uint64_t before = listening_.requests_seen();
    listening_.channel().ready(events);
    ++context_.arrivals;
    if (listening_.requests_seen() != before)
      context_.completions.push(*completions_, {CompletionKind::kRequest, {}, 0, token_, 0});
  }

  PortContext& context_;
  VerbsProcessListener& listening_;
  const std::uint64_t token_;
  const CompletionQueue::SourceHandle completions_ = context_.completions.make_source();
};

}  // namespace exs::verbs
