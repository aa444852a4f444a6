// Two ends of a connection for messages with tags, on fake links, each with an inbox as simple as it can be: lists that are looked
// through.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "src/proto/connection.h"
#include "src/proto/tagged/eager_window.h"
#include "tests/support/fake_link.h"

namespace exs::proto {

using test::Bytes;
using test::FakeLink;

inline constexpr std::uint64_t kEagerBytes = 1024;  // of the windows
inline constexpr std::uint32_t kAdverts = 2;
inline constexpr std::uint32_t kEagerMax = 48;

inline Agreement tagged_agreement(std::uint32_t credits, std::uint32_t reads = 2) {
  Agreement agreement;
  agreement.version = 1;
  agreement.kind = SocketKind::kTagged;
  agreement.send_credits = agreement.receive_credits = credits;
  agreement.small_bytes = kEagerMax + 24;
  agreement.reads_out = agreement.reads_in = reads;
  agreement.tagged = {.peer_rank = 1,
                      .eager_bytes_out = kEagerBytes,
                      .eager_bytes_in = kEagerBytes,
                      .adverts_out = kAdverts,
                      .adverts_in = kAdverts};
  return agreement;
}

class TaggedTestEnd final : public OutcomeSink, public Inbox, public MessageTaker {
 public:
  struct Send {
    Bytes bytes;
    Label label;
    bool has_ended = false;
    int error = 0;
  };
  struct Receive {
    std::uint64_t bits = 0;
    Bytes into;
    Operation operation;
    bool is_matched = false;
    bool has_ended = false;
    Outcome outcome;
  };
  struct Kept {
    Arrival arrival;
    bool is_advert = false;
    std::uint32_t advert = 0;
    Bytes bytes;
  };

  TaggedTestEnd(std::vector<std::string>& violations, Role role, const Agreement& agreement)
      : link(violations, link_depths(agreement)),
        connection(role, agreement, link, *this, counters, {32, 1}, this) {
    link.show_messages_to(*this);
  }

  void send(std::uint64_t bits, Bytes bytes, bool synchronous = false) {
    Send& made = sends.emplace_back();
    made.bytes = std::move(bytes);
    made.label = {.bits = bits, .data = bits + 1, .has_data = bits % 2 == 1, .synchronous = synchronous};
    Operation operation;
    operation.memory = {made.bytes.data(), made.bytes.size(), {}};
    operation.label = &made.label;
    operation.tag.handle = &made;
    const test::InTested tested;
    made.has_ended = tries_short && connection.send_short(made.label, operation.memory) == ShortSend::kSent;
    if (!made.has_ended) connection.post_send(operation);
  }
  void receive(std::uint64_t bits, std::size_t room) {
    Receive& made = receives.emplace_back();
    made.bits = bits;
    made.into.resize(room);
    made.operation.memory = {made.into.data(), made.into.size(), {}};
    made.operation.tag.handle = &made;
    for (auto kept = waiting.begin(); kept != waiting.end(); ++kept) {
      if (kept->arrival.bits != bits) continue;
      const Kept message = std::move(*kept);
      waiting.erase(kept);
      made.is_matched = true;
      const test::InTested tested;
      if (message.is_advert) {
        const bool has_memory = connection.prepare_read();
        EXS_CHECK(has_memory);
        return connection.read_kept(message.advert, made.operation);
      }
      std::copy_n(message.bytes.begin(), std::min(room, message.bytes.size()), made.into.begin());
      made.has_ended = true;
      made.outcome.whole_bytes = message.arrival.length_bytes;
      return connection.finish_kept(message.arrival, true);
    }
    if (full) connection.want({bits, 0});
  }
  // The oldest receive of those bits that nothing has matched. Null: there is none.
  Receive* match(const Arrival& arrival) {
    for (Receive& one : receives) {
      if (one.is_matched || one.bits != arrival.bits) continue;
      one.is_matched = true;
      return &one;
    }
    return nullptr;
  }

  bool handle_one() {
    const auto completion = link.poll();
    if (completion) connection.handle(*completion);
    return completion.has_value();
  }

  // Inbox
  bool take(const Arrival& arrival, const ArrivingMessage& message, std::size_t offset) override {
    const test::InUser user;
    if (arrival.has_data && arrival.data != arrival.bits + 1) ++wrong_data;
    if (Receive* const one = match(arrival); one != nullptr) {
      message.copy(offset, std::span(one->into).first(std::min(one->into.size(), arrival.length_bytes)));
      one->has_ended = true;
      one->outcome.whole_bytes = arrival.length_bytes;
      return true;
    }
    Kept kept{arrival, false, 0, Bytes(arrival.length_bytes)};
    message.copy(offset, kept.bytes);
    waiting.push_back(std::move(kept));
    return false;
  }
  const Operation* announce(const Arrival& arrival, std::uint32_t advert) override {
    const test::InUser user;
    if (arrival.has_data && arrival.data != arrival.bits + 1) ++wrong_data;
    if (Receive* const one = match(arrival); one != nullptr) return &one->operation;
    waiting.push_back({arrival, true, advert, {}});
    return nullptr;
  }
  void filled(bool is_full) noexcept override { full = is_full; }
  [[nodiscard]] std::optional<Wish> wanted() const noexcept override {
    std::optional<Wish> all;
    for (const Receive& one : receives) {
      if (one.is_matched) continue;
      if (!all) all = Wish{one.bits, 0};
      all->include({one.bits, 0});
    }
    return all;
  }
  // MessageTaker
  bool take(const ArrivingMessage& message) override { return connection.take(message); }
  // OutcomeSink
  void completed(Direction direction, const Operation& operation, const Outcome& outcome) override {
    const test::InUser user;
    if (direction == Direction::kSend) {
      auto& ended = *static_cast<Send*>(operation.tag.handle);
      ended.has_ended = true;
      ended.error = outcome.error;
    } else {
      auto& ended = *static_cast<Receive*>(operation.tag.handle);
      ended.has_ended = true;
      ended.outcome = outcome;
    }
  }
  void used(Direction, const Operation&, const Usage&) override {}
  void ready() override {}
  void peer_stopped_receiving() override { ++peer_stopped; }
  void closed() override { ++closes; }
  void failed(Status why) override { failures.push_back(why.error()); }

  [[nodiscard]] std::uint64_t bytes_held() const {
    std::uint64_t held = 0;
    for (const Kept& kept : waiting) held += kept.is_advert ? 0 : kept.arrival.cost;
    return held;
  }

  std::list<Send> sends;
  std::list<Receive> receives;
  std::list<Kept> waiting;
  bool full = false;
  bool tries_short = false;  // sends
  int wrong_data = 0;
  int peer_stopped = 0;
  int closes = 0;
  std::vector<int> failures;
  FakeLink link;
  Counters counters;
  Connection connection;
};

}  // namespace exs::proto
