// Buffers that take message after message (FI_MULTI_RECV), as MPICH posts them.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "tests/fabric/world.h"

namespace exs::test {
namespace {

constexpr std::size_t kRoom = 1000;

// The buffer goes back to the application with less than `left` bytes.
struct Receiver : TwoSides {
  explicit Receiver(std::size_t left = 100, const Wishes& wishes = {}) : TwoSides(wishes) {
    BOOST_REQUIRE_EQUAL(fi_setopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &left, sizeof left), 0);
  }
  ssize_t post(Bytes& into, void* context, std::uint64_t flags = FI_MULTI_RECV,
               fi_addr_t from = FI_ADDR_UNSPEC) {
    const iovec piece{into.data(), into.size()};
    fi_msg message{};
    message.msg_iov = &piece;
    message.iov_count = 1;
    message.addr = from;
    message.context = context;
    return fi_recvmsg(b.ep.get(), &message, flags);
  }
  const Bytes& send(std::size_t bytes, unsigned seed) {
    const Bytes& from = a.keep(pattern(bytes, seed));
    BOOST_REQUIRE_EQUAL(fi_send(a.ep.get(), from.data(), bytes, nullptr, to_b, nullptr), 0);
    return from;
  }
  // The next message is in `buffer` at `offset`.
  void check_next(const Bytes& buffer, std::size_t offset, const Bytes& message, bool is_last,
                  const void* context) {
    const fi_cq_tagged_entry end = b.next();
    BOOST_TEST(end.op_context == context);
    BOOST_TEST(end.flags == (FI_RECV | FI_MSG | (is_last ? FI_MULTI_RECV : 0)));
    BOOST_TEST(end.buf == buffer.data() + offset);
    BOOST_TEST(end.len == message.size());
    BOOST_TEST(
        std::equal(message.begin(), message.end(), buffer.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(multi_receive)

BOOST_AUTO_TEST_CASE(messages_lie_behind_each_other_until_there_is_little_room) {
  Receiver pair;
  Bytes buffer(kRoom);
  int context = 0;
  BOOST_REQUIRE_EQUAL(pair.post(buffer, &context), 0);
  std::size_t offset = 0;
  for (const std::size_t bytes : {300, 0, 599, 1}) {
    const Bytes& sent = pair.send(bytes, static_cast<unsigned>(bytes));
    pair.check_next(buffer, offset, sent, false, &context);
    offset += bytes;
  }
  const Bytes& last = pair.send(7, 9);
  pair.check_next(buffer, offset, last, true, &context);
  BOOST_TEST(pair.b.is_quiet());
}

// What has come meanwhile waits for the next buffer, in its order.
BOOST_AUTO_TEST_CASE(no_message_is_lost_between_buffers) {
  Receiver pair;
  constexpr int kMessages = 200;
  std::vector<const Bytes*> sent;
  for (int i = 0; i < kMessages; ++i) sent.push_back(&pair.send(90, static_cast<unsigned>(i)));
  for (int next = 0; next < kMessages;) {
    Bytes buffer(kRoom);
    BOOST_REQUIRE_EQUAL(pair.post(buffer, &buffer), 0);
    for (std::size_t offset = 0; offset <= kRoom - 100; offset += 90) {
      const bool is_last = kRoom - offset - 90 < 100;
      pair.check_next(buffer, offset, *sent[static_cast<std::size_t>(next++)], is_last, &buffer);
      if (next == kMessages) {
        BOOST_REQUIRE_EQUAL(fi_cancel(&pair.b.ep->fid, &buffer), is_last ? -FI_ENOENT : 0);
        if (!is_last) BOOST_TEST(pair.b.next_error().err == FI_ECANCELED);
        break;
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_with_tags_pass_it_by) {
  Receiver pair;
  Bytes buffer(kRoom), tagged(8);
  BOOST_REQUIRE_EQUAL(pair.post(buffer, nullptr), 0);
  BOOST_REQUIRE_EQUAL(
      fi_trecv(pair.b.ep.get(), tagged.data(), 8, nullptr, FI_ADDR_UNSPEC, 0, ~std::uint64_t{0}, nullptr), 0);
  const Bytes& with_tag = pair.a.keep(pattern(8, 1));
  BOOST_REQUIRE_EQUAL(fi_tsend(pair.a.ep.get(), with_tag.data(), 8, nullptr, pair.to_b, 5, nullptr), 0);
  BOOST_TEST(pair.b.next().flags == (FI_RECV | FI_TAGGED));
  BOOST_TEST((tagged == with_tag));
  const Bytes& without = pair.send(8, 2);
  pair.check_next(buffer, 0, without, false, nullptr);
}

BOOST_AUTO_TEST_CASE(a_message_that_is_too_long_is_cut_and_gives_the_buffer_back) {
  Receiver pair;
  Bytes buffer(kRoom);
  int context = 0;
  BOOST_REQUIRE_EQUAL(pair.post(buffer, &context), 0);
  const Bytes& first = pair.send(600, 1);
  pair.check_next(buffer, 0, first, false, &context);
  const Bytes& second = pair.send(500, 2);
  const fi_cq_err_entry error = pair.b.next_error();
  BOOST_TEST(error.err == FI_ETRUNC);
  BOOST_TEST(error.op_context == &context);
  BOOST_TEST(error.flags == (FI_RECV | FI_MSG | FI_MULTI_RECV));
  BOOST_TEST(error.len == 400U);
  BOOST_TEST(error.olen == 100U);
  BOOST_TEST(std::equal(buffer.begin() + 600, buffer.end(), second.begin()));
}

BOOST_AUTO_TEST_CASE(a_buffer_that_is_cancelled_comes_back) {
  Receiver pair;
  Bytes buffer(kRoom);
  BOOST_REQUIRE_EQUAL(pair.post(buffer, &buffer), 0);
  const Bytes& sent = pair.send(10, 1);
  pair.check_next(buffer, 0, sent, false, &buffer);
  BOOST_REQUIRE_EQUAL(fi_cancel(&pair.b.ep->fid, &buffer), 0);
  const fi_cq_err_entry error = pair.b.next_error();
  BOOST_TEST(error.err == FI_ECANCELED);
  BOOST_TEST((error.flags & FI_MULTI_RECV) != 0U);
}

// The message was there before the buffer was cancelled, and had not been reported yet. No completion follows that of the message.
BOOST_AUTO_TEST_CASE(a_buffer_that_is_cancelled_behind_a_message_comes_back_with_it) {
  Receiver pair;
  Bytes buffer(kRoom);
  BOOST_REQUIRE_EQUAL(pair.post(buffer, &buffer), 0);
  const Bytes& sent = pair.a.keep(pattern(10, 1));
  const iovec piece{const_cast<std::uint8_t*>(sent.data()), sent.size()};
  fi_msg message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = pair.to_b;
  BOOST_REQUIRE_EQUAL(fi_sendmsg(pair.a.ep.get(), &message, FI_COMPLETION | FI_MATCH_COMPLETE), 0);
  pair.a.next();  // the receive has matched
  BOOST_REQUIRE_EQUAL(fi_cancel(&pair.b.ep->fid, &buffer), 0);
  const fi_cq_tagged_entry end = pair.b.next();
  BOOST_TEST(end.len == sent.size());
  BOOST_TEST((end.flags & FI_MULTI_RECV) != 0U);
  BOOST_TEST(std::equal(sent.begin(), sent.end(), buffer.begin()));
}

// Where the default flags of receives say so, each is one; and who reports few completions reports these.
BOOST_AUTO_TEST_CASE(it_may_be_the_default_of_receives) {
  Receiver pair(100, Wishes{.hints = [](fi_info& hints) { hints.rx_attr->op_flags = FI_MULTI_RECV; },
                            .wait = FI_WAIT_UNSPEC,
                            .queue_flags = FI_SELECTIVE_COMPLETION,
                            .has_counters = false});
  Bytes buffer(kRoom);
  BOOST_REQUIRE_EQUAL(fi_recv(pair.b.ep.get(), buffer.data(), kRoom, nullptr, FI_ADDR_UNSPEC, &buffer), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const Bytes& sent = pair.send(10, static_cast<unsigned>(i));
    pair.check_next(buffer, i * 10, sent, false, &buffer);
  }
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  Receiver pair;
  Bytes buffer(kRoom);
  const iovec pieces[2] = {{buffer.data(), 10}, {buffer.data() + 10, 10}};
  fi_msg message{};
  message.msg_iov = pieces;
  message.iov_count = 2;
  message.addr = FI_ADDR_UNSPEC;
  BOOST_TEST(fi_recvmsg(pair.b.ep.get(), &message, FI_MULTI_RECV) == -FI_EINVAL);
  fi_msg_tagged tagged{};
  tagged.msg_iov = pieces;
  tagged.iov_count = 1;
  tagged.addr = FI_ADDR_UNSPEC;
  BOOST_TEST(fi_trecvmsg(pair.b.ep.get(), &tagged, FI_MULTI_RECV) == -FI_EINVAL);
  std::size_t bytes = 0;
  std::size_t length = sizeof bytes;
  BOOST_TEST(fi_getopt(&pair.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, &length) == 0);
  BOOST_TEST(bytes == 100U);
  length = 2;
  BOOST_TEST(fi_getopt(&pair.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, &length) ==
             -FI_ETOOSMALL);
  BOOST_TEST(fi_setopt(&pair.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, 2) == -FI_EINVAL);
  // Who did not ask for it has none.
  Receiver plain(100, Wishes{.hints = [](fi_info& hints) { hints.caps = FI_MSG | FI_TAGGED; },
                             .wait = FI_WAIT_UNSPEC,
                             .queue_flags = 0,
                             .has_counters = false});
  BOOST_TEST(plain.post(buffer, nullptr) == -FI_EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
