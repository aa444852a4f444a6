// Messages with tags: eager ones and ones that are read, what a peer holds back, synchronous sends, ends and broken links, in every
// order of what can happen.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/proto/explored/scheduled_world.h"
#include "tests/proto/tagged.h"
#include "tests/support/pattern.h"

using namespace exs::proto;
using exs::Status;
using exs::test::InPlace;
using exs::test::Place;

namespace explored_tagged_test {

struct Deed {
  enum Kind : std::uint8_t { kSend, kSynchronous, kReceive, kCancelSends, kClose } kind;
  std::uint64_t bits = 0;
  std::size_t bytes = 0;
};

struct TaggedPlan {
  std::uint32_t credits = 1;
  std::uint32_t adverts = 1;
  std::uint32_t eager_bytes = 128;
  std::array<std::vector<Deed>, 2> deeds;
  bool all_find_theirs = true;  // each send has its receive
  bool may_break = false;
};

Agreement agreement_for(const TaggedPlan& plan) {
  Agreement made = tagged_agreement(plan.credits);
  made.tagged.eager_bytes_out = made.tagged.eager_bytes_in = plan.eager_bytes;
  made.tagged.adverts_out = made.tagged.adverts_in = plan.adverts;
  return made;
}

class TaggedWorld {
 public:
  explicit TaggedWorld(const TaggedPlan& plan)
      : plan_(plan),
        a_(violations_, Role::kInitiator, agreement_for(plan)),
        b_(violations_, Role::kResponder, agreement_for(plan)) {
    exs::test::FakeLink::join(a_.link, b_.link);
    if (!a_.connection.start().ok() || !b_.connection.start().ok()) wrong_ = "the start failed";
    scribble();
  }

  [[nodiscard]] static unsigned choices() { return 2 * (kLinkSteps.size() + 2); }
  bool happens(unsigned choice) {
    const InPlace at(choice % 2 == 0 ? Place::kFirst : Place::kSecond);
    if (!try_choice(end_of(choice % 2), choice)) return false;
    for (TaggedTestEnd* const end : {&a_, &b_})
      while (end->link.finish_send()) continue;
    scribble();
    look();
    return true;
  }
  [[nodiscard]] const char* wrong() const {
    return wrong_ == nullptr && !violations_.empty() ? violations_.front().c_str() : wrong_;
  }
  void end() {
    const InPlace whole(Place::kWhole);
    const bool is_lost = !a_.link.is_open() || !b_.link.is_open();
    if (plan_.all_find_theirs && !is_lost) check_deliveries();
    for (TaggedTestEnd* const end : {&a_, &b_}) {
      drop_waiting(*end);
      if (end->closes == 0 && end->failures.empty()) end->connection.close();
      run();
    }
    for (TaggedTestEnd* const end : {&a_, &b_}) {
      if (end->closes + end->failures.size() != 1U) wrong_ = "an end did not end once";
      for (const auto& send : end->sends)
        if (!send.has_ended) wrong_ = "a send did not end";
      if (!plan_.may_break && end->closes != 1) wrong_ = "no orderly end";
      if (!plan_.may_break && end->link.windows() != 0) wrong_ = "a window stays open";
    }
  }
  void add_to(exs::test::Fingerprint& moment) {
    const auto memory_of = [](exs::test::FakeLink& link) { return std::as_bytes(std::span(&link, 1)); };
    const std::array except = {memory_of(a_.link), memory_of(b_.link)};
    for (const Place place : {Place::kFirst, Place::kSecond, Place::kFirstUser, Place::kSecondUser})
      exs::test::SnapshotHeaps::add_to(moment, place);
    exs::test::SnapshotHeaps::add_to(moment, Place::kWhole, except);
    for (TaggedTestEnd* const end : {&a_, &b_}) end->link.add_to(moment);
    for (const auto bytes : elsewhere()) moment.add(bytes);
  }
  [[nodiscard]] const std::vector<std::span<std::byte>>& elsewhere() {
    if (mapped_.empty()) mapped_ = {mapped_slots_of(a_.link), mapped_slots_of(b_.link)};
    return mapped_;
  }
  [[nodiscard]] std::string name(unsigned choice) const {
    const std::string end = choice % 2 == 0 ? "initiator " : "responder ";
    const unsigned kind = choice / 2;
    if (kind < kLinkSteps.size()) return end + kLinkSteps.at(kind);
    return end + (kind == kLinkSteps.size() ? "goes on with its plan" : "loses its link");
  }

 private:
  [[nodiscard]] TaggedTestEnd& end_of(unsigned index) { return index == 0 ? a_ : b_; }
  bool try_choice(TaggedTestEnd& end, unsigned choice) {
    switch (choice / 2) {
      case 0: return end.handle_one();
      case 1: return end.link.deliver_message();
      case 2: return end.link.finish_send();
      case 3: return end.link.begin_read();
      case 4: return end.link.finish_read();
      case 5: return end.link.deliver_end();
      case 6: return act(end, choice % 2);
      default:
        if (!plan_.may_break || !end.link.is_open()) return false;
        end.link.break_off(Status(ECONNRESET));
        return true;
    }
  }
  bool act(TaggedTestEnd& end, unsigned index) {
    if (next_.at(index) == plan_.deeds.at(index).size()) return false;
    const Deed deed = plan_.deeds.at(index)[next_.at(index)++];
    if (end.closes > 0 || !end.failures.empty()) return true;
    if (deed.kind == Deed::kClose) {
      end.connection.close();
    } else if (deed.kind == Deed::kCancelSends) {
      end.connection.cancel(exs::proto::Direction::kSend, {}, ECANCELED);
    } else {
      const exs::test::InUser user;
      if (deed.kind == Deed::kReceive) {
        end.receive(deed.bits, deed.bytes);
      } else {
        end.send(deed.bits, exs::test::pattern(deed.bytes, static_cast<unsigned>(deed.bits + 1)),
                 deed.kind == Deed::kSynchronous);
      }
    }
    return true;
  }
  void scribble() {
    for (TaggedTestEnd* const end : {&a_, &b_}) scribble_slots(end->link);
  }
  void look() {
    for (TaggedTestEnd* const end : {&a_, &b_}) {
      if (end->bytes_held() > plan_.eager_bytes) wrong_ = "more is kept than the window holds";
      if (end->closes + end->failures.size() > 1U) wrong_ = "an end ended twice";
      if (!end->failures.empty() && end->failures.front() == EPROTO) wrong_ = "a peer broke the rules";
    }
  }
  // The n-th message of some bits goes to the n-th receive of them, whole or cut.
  void check_deliveries() {
    for (unsigned i = 0; i < 2; ++i) {
      const TaggedTestEnd& to = end_of(1 - i);
      auto receive = to.receives.begin();
      for (const auto& send : end_of(i).sends) {
        if (!send.has_ended) wrong_ = "a send did not end at rest";
        if (send.error == ECANCELED) continue;
        receive = std::find_if(to.receives.begin(), to.receives.end(),
                               [&](const auto& one) { return one.bits == send.label.bits; });
        if (receive == to.receives.end() || !receive->has_ended ||
            receive->outcome.whole_bytes != send.bytes.size()) {
          wrong_ = "a message did not arrive";
          continue;
        }
        const std::size_t taken = std::min(receive->into.size(), send.bytes.size());
        if (!std::equal(receive->into.begin(), receive->into.begin() + static_cast<std::ptrdiff_t>(taken),
                        send.bytes.begin()))
          wrong_ = "other bytes arrived";
      }
    }
  }
  static void drop_waiting(TaggedTestEnd& end) {
    while (!end.waiting.empty()) {
      const TaggedTestEnd::Kept kept = std::move(end.waiting.front());
      end.waiting.pop_front();
      kept.is_advert ? end.connection.refuse_kept(kept.advert)
                     : end.connection.finish_kept(kept.arrival, false);
    }
  }
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (unsigned choice = 0; choice < 2 * kLinkSteps.size(); ++choice)
        moved |= try_choice(end_of(choice % 2), choice);
      for (TaggedTestEnd* const end : {&a_, &b_}) {
        drop_waiting(*end);
        if (end->closes > 0) end->link.close();
      }
    }
  }

  const TaggedPlan& plan_;
  std::vector<std::string> violations_;
  TaggedTestEnd a_;
  TaggedTestEnd b_;
  std::array<std::size_t, 2> next_{};
  std::vector<std::span<std::byte>> mapped_;
  const char* wrong_ = nullptr;
};

void explore_tagged(const char* name, const TaggedPlan& plan) {
  const auto found =
      exs::test::Explorer<TaggedWorld>::run([&] { return new TaggedWorld(plan); }, kMomentsMax);
  expect_all_well(name, found);
}

constexpr Deed kEager = {Deed::kSend, 1, 8};
constexpr Deed kRead = {Deed::kSend, 2, 60};
constexpr Deed kReadToo = {Deed::kSend, 3, 60};
constexpr Deed kSynchronous = {Deed::kSynchronous, 1, 8};
constexpr Deed kClose = {Deed::kClose};
constexpr Deed for_bits(std::uint64_t bits) {
  return {Deed::kReceive, bits, 64};
}

}  // namespace explored_tagged_test

using namespace explored_tagged_test;

BOOST_AUTO_TEST_SUITE(tagged_test)

BOOST_AUTO_TEST_CASE(each_message_finds_its_receive) {
  explore_tagged("eager", {1, 1, 128, {std::vector{kEager}, {for_bits(1)}}});
  explore_tagged("read", {1, 1, 128, {std::vector{kRead}, {for_bits(2)}}});
  explore_tagged("synchronous", {1, 1, 128, {std::vector{kSynchronous}, {for_bits(1)}}});
}

BOOST_AUTO_TEST_CASE(a_cancelled_send_is_received_or_is_not) {
  explore_tagged("read", {1, 1, 128, {std::vector{kRead, Deed{Deed::kCancelSends}}, {for_bits(2)}}, false});
}

BOOST_AUTO_TEST_CASE(each_send_ends_once_when_an_end_closes) {
  explore_tagged("the sender", {1, 1, 128, {std::vector{kRead, kClose}, {for_bits(2)}}, false});
  explore_tagged("the receiver", {1, 1, 128, {std::vector{kRead}, {for_bits(2), kClose}}, false});
}

BOOST_AUTO_TEST_CASE(each_send_ends_once_when_the_link_breaks_at_any_step) {
  explore_tagged("read", {1, 1, 128, {std::vector{kRead}, {for_bits(2)}}, false, true});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tagged_at_length)

BOOST_AUTO_TEST_CASE(longer_plans_end_as_they_must) {
  explore_tagged("eager and read", {1, 1, 128, {std::vector{kEager, kRead}, {for_bits(1), for_bits(2)}}});
  explore_tagged("in the other order", {1, 1, 128, {std::vector{kEager, kRead}, {for_bits(2), for_bits(1)}}});
  explore_tagged("held back for want of adverts",
                 {2, 1, 128, {std::vector{kRead, kReadToo}, {for_bits(3)}}, false});
  explore_tagged("each way", {1, 1, 128, {std::vector{kEager}, {kEager}}, false});
  explore_tagged("both close",
                 {1, 1, 128, {std::vector{kSynchronous, kClose}, {for_bits(1), kClose}}, false});
  explore_tagged("a link that breaks", {1, 1, 128, {std::vector{kSynchronous}, {for_bits(1)}}, false, true});
}

BOOST_AUTO_TEST_SUITE_END()
