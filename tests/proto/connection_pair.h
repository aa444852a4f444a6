// Two connections on a pair of fake links, with everything they say written down.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/proto/connection.h"
#include "tests/support/fake_link.h"
#include "tests/support/pattern.h"

namespace exs::proto {

using test::Bytes;
using test::FakeLink;

// One end: its link, its connection, and what the connection told.
struct End final : OutcomeSink {
  struct EndedOperation {
    Direction direction;
    Operation operation;
    Outcome outcome;
  };

  End(std::vector<std::string>& violations, Role role, const Agreement& agreement, const Tuning& tuning)
      : link(violations, link_depths(agreement)),
        connection(role, agreement, link, *this, counters, tuning) {}

  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    (direction == Direction::kSend ? sends : receives).push_back({direction, operation, outcome});
    if (!failures.empty() || closed_count > 0) late = true;
  }
  void used(Direction, const Operation& operation, const Usage& usage) override {
    uses.push_back({operation, usage});
  }
  void ready() override { ++ready_count; }
  void peer_stopped_receiving() override { ++peer_stopped_count; }
  void closed() override { ++closed_count; }
  void failed(Status why) override { failures.push_back(why.error()); }

  void send(Bytes& memory, bool never_immediate = false) {
    Operation operation;
    operation.memory = {memory.data(), memory.size(), {}};
    operation.never_immediate = never_immediate;
    connection.post_send(operation);
  }
  void receive(Bytes& memory) {
    Operation operation;
    operation.memory = {memory.data(), memory.size(), {}};
    connection.post_receive(operation);
  }
  bool handle_one() {
    const auto completion = link.poll();
    if (completion) connection.handle(*completion);
    return completion.has_value();
  }

  FakeLink link;
  Counters counters;
  Connection connection;
  struct Used {
    Operation operation;
    Usage usage;
  };
  std::vector<Used> uses;
  std::vector<EndedOperation> sends;
  std::vector<EndedOperation> receives;
  int ready_count = 0;
  int peer_stopped_count = 0;
  int closed_count = 0;
  std::vector<int> failures;
  bool late = false;  // an outcome came after closed() or failed()
};

inline std::vector<int> errors_of(const std::vector<End::EndedOperation>& ended) {
  std::vector<int> found;
  for (const auto& operation : ended) found.push_back(operation.outcome.error);
  return found;
}

inline Agreement agreement_of(std::uint32_t credits, std::uint32_t small_bytes, std::uint32_t reads) {
  Agreement agreement;
  agreement.version = 1;
  agreement.send_credits = agreement.receive_credits = credits;
  agreement.small_bytes = small_bytes;
  agreement.reads_out = agreement.reads_in = reads;
  return agreement;
}

inline Agreement mirrored(Agreement agreement) {
  std::swap(agreement.send_credits, agreement.receive_credits);
  return agreement;
}

struct ConnectionPair {
  explicit ConnectionPair(const Agreement& agreement, const Tuning& tuning = {64, 1})
      : initiator(violations, Role::kInitiator, agreement, tuning),
        responder(violations, Role::kResponder, mirrored(agreement), tuning) {
    FakeLink::join(initiator.link, responder.link);
  }
  [[nodiscard]] bool start() {
    return responder.connection.start().ok() && initiator.connection.start().ok();
  }

  // One thing that can happen, out of `kStepKinds`; false when it cannot happen now.
  static constexpr unsigned kStepKinds = 12;
  bool step(unsigned kind) {
    End& end = kind % 2 == 0 ? initiator : responder;
    switch (kind / 2) {
      case 0: return end.handle_one();
      case 1: return end.link.deliver_message();
      case 2: return end.link.finish_send();
      case 3: return end.link.begin_read();
      case 4: return end.link.finish_read();
      default: return end.link.deliver_end();
    }
  }
  // Lets everything happen that can, in a fixed order.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (unsigned kind = 0; kind < kStepKinds; ++kind) moved |= step(kind);
    }
  }

  std::vector<std::string> violations;
  End initiator;
  End responder;
};

using test::equal_bytes;
using test::pattern;

}  // namespace exs::proto
