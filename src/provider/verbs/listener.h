// What a port adds to a listening socket's ids: it looks at their events and gives requests out.
#pragma once

#include <memory>

#include "src/provider/verbs/listening.h"
#include "src/provider/verbs/port_context.h"

namespace exs::verbs {

// Thread: shard.
class VerbsListener final : public PortListener, private Pollable {
 public:
  VerbsListener(PortContext& context, VerbsListening& listening, std::uint64_t token)
      : context_(context), listening_(listening), token_(token) {}
  ~VerbsListener() override { context_.poller.remove(listening_.channel().descriptor()); }

  Status start() { return context_.poller.add(listening_.channel().descriptor(), EPOLLIN, *this); }
  std::unique_ptr<ConnectionRequest> next_request() override { return listening_.next_request(); }

 private:
  void ready(std::uint32_t events) override {
    const std::uint64_t before = listening_.requests_seen();
    listening_.channel().ready(events);
    ++context_.arrivals;
    if (listening_.requests_seen() != before)
      context_.completions.push(*completions_, {CompletionKind::kRequest, {}, 0, token_, 0});
  }

  PortContext& context_;
  VerbsListening& listening_;
  const std::uint64_t token_;
  const CompletionQueue::SourceHandle completions_ = CompletionQueue::make_source();
};

}  // namespace exs::verbs
