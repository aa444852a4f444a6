// Messages with tags whose memory is in pieces: each piece is a window of its own, and they are read in their order.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/tagged.h"
#include "tests/support/pattern.h"

namespace exs::proto {
namespace tagged_vector_test {

struct Pair {
  Pair() : a(violations, Role::kInitiator, agreement()), b(violations, Role::kResponder, agreement()) {
    FakeLink::join(a.link, b.link);
    BOOST_REQUIRE(a.connection.start().ok());
    BOOST_REQUIRE(b.connection.start().ok());
  }
  ~Pair() { BOOST_TEST(violations.empty()); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // With room for the windows of five pieces.
  static Agreement agreement() {
    Agreement made = tagged_agreement(4);
    made.small_bytes = 160;
    return made;
  }
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (TaggedTestEnd* end : {&a, &b}) {
        while (end->link.deliver_message() || end->link.finish_send() || end->link.begin_read() ||
               end->link.finish_read() || end->handle_one())
          moved = true;
      }
    }
  }

  std::vector<std::string> violations;
  TaggedTestEnd a;
  TaggedTestEnd b;
};

// A send of pieces of these sizes, and its end.
class InPieces {
 public:
  InPieces(TaggedTestEnd& end, const std::vector<std::size_t>& sizes) : send_(end.sends.emplace_back()) {
    for (const std::size_t size : sizes) {
      memories_.push_back(test::pattern(size, static_cast<unsigned>(memories_.size()) + 3));
      whole.insert(whole.end(), memories_.back().begin(), memories_.back().end());
    }
    for (Bytes& memory : memories_) pieces_.push_back({memory.data(), memory.size(), {}});
    send_.label = {.bits = 0};
    Operation operation;
    operation.memory.length_bytes = whole.size();
    operation.vector = pieces_;
    operation.label = &send_.label;
    operation.tag.handle = &send_;
    end.connection.post_send(operation);
  }
  [[nodiscard]] bool has_ended_well() const { return send_.has_ended && send_.error == 0; }

  Bytes whole;

 private:
  TaggedTestEnd::Send& send_;
  std::vector<Bytes> memories_;
  std::vector<LocalSlice> pieces_;
};

}  // namespace tagged_vector_test

BOOST_AUTO_TEST_SUITE(tagged_vector_test)

BOOST_AUTO_TEST_CASE(pieces_are_read_in_their_order_by_a_receive_that_waits) {
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{300}, {170, 150}, {100, 90, 130}, {80, 1, 120, 77}}) {
    Pair pair;
    pair.b.receive(0, 400);
    const InPieces sent(pair.a, sizes);
    BOOST_TEST(pair.a.link.windows() == sizes.size());
    pair.run();
    const auto& receive = pair.b.receives.back();
    BOOST_TEST(receive.has_ended);
    BOOST_TEST(receive.outcome.whole_bytes == sent.whole.size());
    BOOST_TEST(std::equal(sent.whole.begin(), sent.whole.end(), receive.into.begin()));
    BOOST_TEST(sent.has_ended_well());
    BOOST_TEST(pair.a.link.windows() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(pieces_that_were_announced_are_read_by_a_later_receive_as_far_as_it_goes) {
  Pair pair;
  const InPieces sent(pair.a, {100, 90, 130});
  pair.run();
  BOOST_REQUIRE(pair.b.waiting.size() == 1U);
  pair.b.receive(0, 200);  // ends within the third
  pair.run();
  const auto& receive = pair.b.receives.back();
  BOOST_TEST(receive.has_ended);
  BOOST_TEST(receive.outcome.whole_bytes == 320U);
  BOOST_TEST(std::equal(receive.into.begin(), receive.into.end(), sent.whole.begin()));
  BOOST_TEST(sent.has_ended_well());
  BOOST_TEST(pair.a.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(pieces_of_what_is_held_back_are_read_when_they_are_fetched) {
  Pair pair;
  std::vector<std::unique_ptr<InPieces>> sent;
  for (std::uint32_t i = 0; i < kAdverts + 2; ++i)
    sent.push_back(std::make_unique<InPieces>(pair.a, std::vector<std::size_t>{100, 90 + i, 130}));
  pair.run();
  for (const auto& one : sent) {
    pair.b.receive(0, 400);
    pair.run();
    const auto& receive = pair.b.receives.back();
    BOOST_TEST(receive.has_ended);
    BOOST_TEST(std::equal(one->whole.begin(), one->whole.end(), receive.into.begin()));
    BOOST_TEST(one->has_ended_well());
  }
  BOOST_TEST(pair.a.link.windows() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::proto
